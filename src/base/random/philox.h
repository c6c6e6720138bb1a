// Randomness that is a function of what it is for, never of which thread asks or when.
//
// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC'11) is the counter-based
// function: it turns (seed, epoch, stream, …) into 128 bits. Long draws from one key (shuffling a pool of rows) come
// from xoshiro256++ (Blackman, Vigna 2019) seeded by Philox: both are plain integer arithmetic, so the numbers are the
// same on every machine and compiler; Philox alone would cost about 4 times as much a draw.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>

namespace headrace {

struct Philox4x32 {
  using Counter = std::array<std::uint32_t, 4>;
  using Key = std::array<std::uint32_t, 2>;

  /// Apply ten rounds: return the four words of `counter` under `key`. A bijection of counters for each key.
  static constexpr Counter block(Counter c, Key k) {
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0], p1 = std::uint64_t{0xCD9E8D57} * c[2];
      c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(p1),
           static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(p0)};
      k = {k[0] + 0x9E3779B9u, k[1] + 0xBB67AE85u};
    }
    return c;
  }
};

/// 128 bits that stand for a list of words, in order. Equal lists give equal keys; (a), (a, 0) and (0, a) differ.
struct RandomKey {
  std::uint64_t low = 0, high = 0;

  /// Make a key, for example RandomKey::of({seed, epoch, stream, pool}).
  static constexpr RandomKey of(std::initializer_list<std::uint64_t> words) {
    RandomKey key{0x6865616472616365u, 0};  // "headrace"
    for (const std::uint64_t word : words) key = key.with(word);
    return key;
  }
  /// Return the key of the list that `word` is appended to.
  [[nodiscard]] constexpr RandomKey with(std::uint64_t word) const {
    const auto low_half = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    const auto high_half = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
    const auto out = Philox4x32::block({low_half(word), high_half(word), low_half(high), high_half(high)},
                                       {low_half(low), high_half(low)});
    return {out[0] | std::uint64_t{out[1]} << 32, out[2] | std::uint64_t{out[3]} << 32};
  }
  friend bool operator==(const RandomKey&, const RandomKey&) = default;
};

/// xoshiro256++ from a key. A UniformRandomBitGenerator; the standard's distributions differ between libraries, so use
/// those below.
class KeyedRandom {
 public:
  using result_type = std::uint64_t;
  explicit constexpr KeyedRandom(RandomKey key) {
    const RandomKey a = key.with(kDomain), b = key.with(kDomain + 1);
    state_ = {a.low, a.high, b.low, b.high | 1};  // never all zero
  }
  static constexpr std::uint64_t min() { return 0; }
  static constexpr std::uint64_t max() { return ~std::uint64_t{0}; }
  constexpr std::uint64_t operator()() {
    auto& s = state_;
    const std::uint64_t result = std::rotl(s[0] + s[3], 23) + s[0];
    const std::uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = std::rotl(s[3], 45);
    return result;
  }

  /// Return a number that is uniform in [0, bound), exactly (Lemire, "Fast random integer generation in an interval",
  /// 2019). `bound` > 0.
  constexpr std::uint64_t below(std::uint64_t bound) {
    __extension__ using uint128 = unsigned __int128;
    uint128 product = static_cast<uint128>((*this)()) * bound;
    if (static_cast<std::uint64_t>(product) < bound) {
      const std::uint64_t threshold = -bound % bound;  // 2^64 mod bound: so many draws would favour small results
      while (static_cast<std::uint64_t>(product) < threshold) product = static_cast<uint128>((*this)()) * bound;
    }
    return static_cast<std::uint64_t>(product >> 64);
  }
  /// Return a number that is uniform in [0, 1), 53 bits.
  constexpr double unit() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }

 private:
  static constexpr std::uint64_t kDomain = 0x67656E6572617465u;  // "generate": apart from the words of callers
  std::array<std::uint64_t, 4> state_{};
};

/// Put `items`, fewer than 2^32, into a uniformly random order that depends on `key` and their number only
/// (Fisher-Yates, from the end). One draw gives two places.
template <class T, std::size_t Extent>
constexpr void keyed_shuffle(std::span<T, Extent> items, RandomKey key) {
  KeyedRandom random(key);
  const auto place = [&](std::uint32_t half, std::uint32_t bound) -> std::uint64_t {  // as below(), of 32 bits
    const std::uint64_t product = std::uint64_t{half} * bound;
    const auto low = static_cast<std::uint32_t>(product);
    return low < bound && low < -bound % bound ? random.below(bound) : product >> 32;
  };
  auto i = static_cast<std::uint32_t>(items.size());
  for (; i > 2; i -= 2) {
    const std::uint64_t bits = random();
    std::swap(items[i - 1], items[place(static_cast<std::uint32_t>(bits), i)]);
    std::swap(items[i - 2], items[place(static_cast<std::uint32_t>(bits >> 32), i - 1)]);
  }
  if (i == 2) std::swap(items[1], items[random.below(2)]);
}

}  // namespace headrace
