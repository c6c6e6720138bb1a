// A table of short words and their tokens: what most of a text consists of is looked up, not merged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace headrace::tokenizing {

inline constexpr std::size_t kShortWordBytes = 15;

/// Up to 15 bytes of a word, zeros behind them, and its length in the last byte. Zeros: no word.
struct WordKey {
  std::uint64_t low = 0, high = 0;
  friend bool operator==(const WordKey&, const WordKey&) = default;
  [[nodiscard]] std::uint64_t hash() const {
    const std::uint64_t mixed = (low ^ (high << 29 | high >> 35)) * 0x9E3779B97F4A7C15ull;
    return ((mixed ^ mixed >> 32) + high) * 0xC2B2AE3D27D4EB4Full >> 24;
  }
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
inline WordKey word_key(const std::uint8_t* p, std::size_t size, std::size_t readable) {
  WordKey key;
  if (readable >= 16) {
    std::memcpy(&key, p, 16);
  } else {
    std::memcpy(&key, p, size);
  }
  return {key.low & kKeyMasks.low[size], (key.high & kKeyMasks.high[size]) | std::uint64_t{size} << 56};
}

/// Half a line of the processor's cache, so that a look-up touches one.
struct alignas(32) WordEntry {
  static constexpr std::uint32_t kElsewhere = 0xFF;
  WordKey key = {};
  /// Four tokens at most, the top byte of the first says how many; kElsewhere: [1] and [2] are a place and a number.
  std::uint32_t tokens[4] = {};
  [[nodiscard]] std::uint32_t count() const { return tokens[0] >> 24; }
};

/// The largest id that an entry can hold, and one.
inline constexpr std::uint32_t kMostIds = 1u << 24;

/// Threads: const members from any thread while no other member runs.
class WordTable {
 public:
  /// \param slots  A power of two. \param most_words  So many are kept; with one more, all are forgotten.
  WordTable(std::size_t slots, std::size_t most_words) : entries_(slots), most_words_(most_words) {}

  /// Return the first place where a word may be; the next ones follow.
  [[nodiscard]] const WordEntry& first(std::uint64_t hash) const { return entries_[hash & (entries_.size() - 1)]; }
  /// Return the entry of a word; null: it is not there.
  [[nodiscard]] const WordEntry* find(const WordKey& key, std::uint64_t hash) const {
    const WordEntry& entry = entries_[place(key, hash)];
    return entry.key == key ? &entry : nullptr;
  }
  /// Write the tokens of an entry: four always, of which as many count as there are. \return Behind the last one.
  std::uint32_t* copy(const WordEntry& entry, std::uint32_t* out) const {
    if (entry.count() == WordEntry::kElsewhere) [[unlikely]]
      return copy_elsewhere(entry, out);
    std::memcpy(out, entry.tokens, sizeof(entry.tokens));
    out[0] &= kMostIds - 1;
    return out + entry.count();
  }
  void put(const WordKey& key, std::span<const std::uint32_t> tokens);
  [[nodiscard]] std::size_t words() const { return words_; }

 private:
  [[nodiscard]] std::size_t place(const WordKey& key, std::uint64_t hash) const {
    std::size_t i = hash & (entries_.size() - 1);
    while (entries_[i].key.high != 0 && !(entries_[i].key == key)) i = (i + 1) & (entries_.size() - 1);
    return i;
  }
  std::uint32_t* copy_elsewhere(const WordEntry& entry, std::uint32_t* out) const;
  void grow();

  std::vector<WordEntry> entries_;
  std::vector<std::uint32_t> elsewhere_;
  std::size_t words_ = 0, most_words_;
};

}  // namespace headrace::tokenizing
