// Keys of words in a table: a short word is its key, and a longer one has a hash for a key.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace headrace::tokenizing {

inline constexpr std::size_t kShortWordBytes = 15;
/// Longer words are merged each time.
inline constexpr std::size_t kMostWordBytes = 512;

/// Multiply to 128 bits and fold them: one instruction that mixes two numbers.
inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// Up to 15 bytes of a word, zeros behind them, and its length in the last byte. Zeros: no word. What is longer has two
/// hashes instead, and kLong or kTooLong in the last byte.
struct WordKey {
  static constexpr std::uint64_t kLong = 0xFF, kTooLong = 0xFE;
  std::uint64_t low = 0, high = 0;
  friend bool operator==(const WordKey&, const WordKey&) = default;
  [[nodiscard]] std::uint64_t hash() const { return mixed(low ^ 0x9E3779B97F4A7C15ull, high ^ 0xC2B2AE3D27D4EB4Full); }
};

/// Which bytes of a key belong to a word, by its length.
struct KeyMasks {
  std::uint64_t low[16], high[16];
};
inline constexpr KeyMasks kKeyMasks = [] {
  KeyMasks masks{};
  for (std::size_t size = 0; size < 16; ++size) {
    masks.low[size] = size >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * size) - 1;
    masks.high[size] = size > 8 ? (std::uint64_t{1} << 8 * (size - 8)) - 1 : 0;
  }
  return masks;
}();

/// Return the key of `size` bytes (0 to 15) at `p`; `readable` bytes may be read there.
inline WordKey short_key(const std::uint8_t* p, std::size_t size, std::size_t readable) {
  WordKey key;
  if (readable >= 16) [[likely]] {
    std::memcpy(&key, p, 16);
  } else {
    std::memcpy(&key, p, size);
  }
  return {key.low & kKeyMasks.low[size], (key.high & kKeyMasks.high[size]) | std::uint64_t{size} << 56};
}

/// Return the key of 16 bytes or more.
inline WordKey long_key(const std::uint8_t* p, std::size_t size) {
  if (size > kMostWordBytes) return {0, WordKey::kTooLong << 56};
  std::uint64_t first = size, second = ~std::uint64_t{size}, words[2];
  for (std::size_t at = 0; at < size; at += 16) {
    std::memcpy(words, p + std::min(at, size - 16), 16);
    first = mixed(first ^ words[0], words[1] ^ 0x9E3779B97F4A7C15ull);
    second = mixed(second + words[1], words[0] ^ 0xC2B2AE3D27D4EB4Full);
  }
  return {first, second >> 8 | WordKey::kLong << 56};
}

/// Return the key of a word of any length but none.
inline WordKey word_key(const std::uint8_t* p, std::size_t size, std::size_t readable) {
  return size <= kShortWordBytes ? short_key(p, size, readable) : long_key(p, size);
}

}  // namespace headrace::tokenizing
