// Ordinary text → tokens: words are found, and looked up or merged.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/fork_safe_mutex.h"
#include "tokenizer/long_words.h"
#include "tokenizer/vocabulary.h"
#include "tokenizer/word_ends.h"
#include "tokenizer/word_table.h"

namespace headrace::tokenizing {

/// What a thread has learned beyond the vocabulary, and its buffers. Bounded: some 30 MB.
struct LearnedWords {
  static constexpr std::size_t kMostWords = std::size_t{1} << 18;
  WordTable words{std::size_t{1} << 10, kMostWords};
  LongWords long_words = {};
  std::vector<std::uint32_t> ends = {}, tokens = {}, merged = {};
};

/// Threads: encode() from any, each with LearnedWords of its own.
class WordEncoder {
 public:
  /// Make the table that all threads share: the words of the vocabulary, with what becomes of them. An entry that
  /// merges do not reach is what they make of it. \param vocabulary  Has to outlive it.
  explicit WordEncoder(const Vocabulary& vocabulary);

  /// Encode the words from `p` to `stop`. Both are places where words begin, or the ends of the text.
  /// \param end  Where the text ends. \param out  The tokens are put at its end.
  void encode(const std::uint8_t* p, const std::uint8_t* stop, const std::uint8_t* end, LearnedWords& learned,
              std::vector<std::uint32_t>& out, WordScan scan = WordScan::kBest) const;

  /// Merge one word without any table: the truth that tables repeat.
  void encode_word(std::span<const std::uint8_t> word, std::vector<std::uint32_t>& out) const;

 private:
  std::uint32_t* encode_chunk(const std::uint8_t* p, const std::uint8_t* end, LearnedWords& learned,
                              std::uint32_t* out) const;
  std::uint32_t* look_further(const std::uint8_t* p, std::size_t size, const WordKey& key, LearnedWords& learned,
                              std::uint32_t* out) const;

  const Vocabulary& vocabulary_;
  WordTable frozen_;
};

}  // namespace headrace::tokenizing
