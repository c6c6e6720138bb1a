// A table of words and their tokens: what most of a text consists of is looked up, not merged.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/memory/page_buffer.h"
#include "tokenizer/word_key.h"

namespace headrace::tokenizing {

/// Half a line of the processor's cache.
struct alignas(32) WordEntry {
  static constexpr std::uint32_t kElsewhere = 0xFF;
  WordKey key = {};
  /// Four tokens at most, the top byte of the first says how many; kElsewhere: [1] is a place, [2] how many tokens are
  /// there, and [3] the length of a long word, whose bytes are behind them.
  std::uint32_t tokens[4] = {};
  [[nodiscard]] std::uint32_t count() const { return tokens[0] >> 24; }
};

/// Two entries, so that a look-up touches one line.
struct alignas(64) WordLine {
  WordEntry entries[2];
};

/// The largest id that an entry can hold, and one.
inline constexpr std::uint32_t kMostIds = 1u << 24;

/// Threads: const members from any thread while no other member runs.
class WordTable {
 public:
  /// Some 64 MB in all: 2^20 entries, half of them words, and as much for what does not go into an entry.
  static constexpr std::size_t kMostWords = std::size_t{1} << 19, kMostElsewhere = std::size_t{1} << 23;

  WordTable() = default;
  /// \param words  So many are expected. \param most_words  With so many it is full; tests take less.
  explicit WordTable(std::size_t words, std::size_t most_words = kMostWords);
  [[nodiscard]] WordTable copy() const;

  /// Return true before anything was put there: then nothing may be asked of it.
  [[nodiscard]] bool empty() const { return lines_ == nullptr; }
  /// Return true where another word ought not to be put; it has to be replaced then.
  [[nodiscard]] bool full() const { return words_ >= most_words_ || elsewhere_.size() >= most_elsewhere_; }
  /// Be full before it takes more than so many bytes, also while it grows; a quarter more words than now have room in
  /// any case. least_bytes() is what that needs.
  void limit(std::size_t bytes);
  [[nodiscard]] std::size_t least_bytes() const;
  [[nodiscard]] std::size_t bytes() const {
    return memory_.size_bytes() + elsewhere_.capacity() * sizeof(std::uint32_t);
  }
  /// Let it be full with as much again as it has now, or with what is usual.
  void leave_room() {
    most_words_ = std::max(most_words_, 2 * words_);
    most_elsewhere_ = std::max(most_elsewhere_, 2 * elsewhere_.size());
  }
  [[nodiscard]] std::size_t words() const { return words_; }

  /// Return the first place where a word may be, in lines(); the next ones follow.
  [[nodiscard]] std::size_t place(std::uint64_t hash) const { return hash & mask_; }
  [[nodiscard]] const WordLine* lines() const { return lines_; }
  [[nodiscard]] std::size_t mask() const { return mask_; }
  /// Return the entry of a key; null: it is not there.
  [[nodiscard]] const WordEntry* find(const WordKey& key, std::uint64_t hash) const {
    const WordEntry& entry = *slot(key, hash);
    return entry.key.high != 0 ? &entry : nullptr;
  }
  /// Return true if a word is the one of the entry that its key has. Only long words can differ.
  [[nodiscard]] bool is_word(const WordEntry& entry, std::span<const std::uint8_t> word) const {
    return word.size() <= kShortWordBytes ||
           (entry.tokens[3] == word.size() &&
            std::memcmp(elsewhere_.data() + entry.tokens[1] + entry.tokens[2], word.data(), word.size()) == 0);
  }
  /// Write the tokens of an entry, and up to three more words behind them. \return Behind the last one.
  std::uint32_t* copy(const WordEntry& entry, std::uint32_t* out) const {
    const bool here = entry.count() != WordEntry::kElsewhere;
    if (!here) return copy_elsewhere(entry, out);
    std::memcpy(out, entry.tokens, sizeof(entry.tokens));
    out[0] &= kMostIds - 1;
    return out + entry.count();
  }
  /// Keep a word that is not there.
  void put(const WordKey& key, std::span<const std::uint8_t> word, std::span<const std::uint32_t> tokens);

 private:
  [[nodiscard]] WordEntry* slot(const WordKey& key, std::uint64_t hash) const {
    for (std::size_t i = hash & mask_;; i = (i + 1) & mask_)
      for (WordEntry& entry : lines_[i].entries)
        if (entry.key == key || entry.key.high == 0) return &entry;
  }
  std::uint32_t* copy_elsewhere(const WordEntry& entry, std::uint32_t* out) const {
    const std::uint32_t *from = elsewhere_.data() + entry.tokens[1], count = entry.tokens[2];
    for (std::uint32_t i = 0; i < count; i += 4) std::memcpy(out + i, from + i, 16);
    return out + count;
  }
  void allocate(std::size_t lines);
  void grow();

  PageBuffer memory_;
  WordLine* lines_ = nullptr;
  std::size_t mask_ = 0, words_ = 0, most_words_ = kMostWords, most_elsewhere_ = kMostElsewhere;
  std::vector<std::uint32_t> elsewhere_;  // and four more at its end, which copies of four may read
};

}  // namespace headrace::tokenizing
