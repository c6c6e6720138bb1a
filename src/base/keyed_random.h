// Randomness keyed by what it is for (seed, epoch, stream, pool …), never by a thread or by what was drawn before.
//
// Orders draw many small indices from one key, so the generator behind them is SplitMix64 (Steele, Lea, Flood: "Fast
// splittable pseudorandom number generators", OOPSLA 2014): a counter and a finaliser, 1 ns a draw, the same on every
// machine. A key is built by absorbing words with the same finaliser. Part of what a seed means: must never change.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>

namespace headrace {

constexpr std::uint64_t splitmix_finalise(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}
inline constexpr std::uint64_t kGoldenGamma = 0x9e3779b97f4a7c15ull;

/// One key from several words; the order of the words matters.
constexpr std::uint64_t mix_key(std::initializer_list<std::uint64_t> words) {
  std::uint64_t key = 0x243f6a8885a308d3ull;  // first digits of pi
  for (std::uint64_t w : words) key = splitmix_finalise((key ^ splitmix_finalise(w + kGoldenGamma)) + kGoldenGamma);
  return key;
}

/// Counter-based stream of random numbers of one key.
class KeyedRandom {
 public:
  explicit KeyedRandom(std::uint64_t key) : state_(key) {}
  std::uint64_t next() { return splitmix_finalise(state_ += kGoldenGamma); }
  /// Uniform in [0, bound), exactly (Lemire, "Fast random integer generation in an interval", 2019). bound > 0.
  std::uint64_t below(std::uint64_t bound) {
    auto product = static_cast<unsigned __int128>(next()) * bound;
    if (static_cast<std::uint64_t>(product) < bound) {
      const std::uint64_t threshold = -bound % bound;
      while (static_cast<std::uint64_t>(product) < threshold)
        product = static_cast<unsigned __int128>(next()) * bound;
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

 private:
  std::uint64_t state_;
};

inline std::uint64_t keyed_below(std::uint64_t key, std::uint64_t bound) { return KeyedRandom(key).below(bound); }

/// Fisher-Yates: every permutation of `items` is equally likely over keys.
template <class T>
void keyed_shuffle(std::span<T> items, std::uint64_t key) {
  KeyedRandom random(key);
  for (std::size_t n = items.size(); n > 1; --n) std::swap(items[n - 1], items[random.below(n)]);
}

}  // namespace headrace
