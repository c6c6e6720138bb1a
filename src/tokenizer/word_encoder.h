// Ordinary text → tokens: words are found, and looked up or merged.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tokenizer/merge_word.h"
#include "tokenizer/vocabulary/vocabulary.h"
#include "tokenizer/word_table.h"
#include "tokenizer/words/word_ends.h"

namespace headrace::tokenizing {

/// What a thread has learned, on top of the vocabulary's words, and its buffers. Bounded: see WordTable.
struct LearnedWords {
  static constexpr std::size_t kUsualBytes = std::size_t{80} << 20;
  std::size_t most_bytes = kUsualBytes;  ///< What `words` takes at most, but for those of the vocabulary.
  WordTable words = {};                  ///< Empty until a WordEncoder takes it, whose it is from then on.
  std::vector<std::uint32_t> ends = {}, tokens = {}, merged = {}, ids = {};
};

/// Threads: encode() from any, each with LearnedWords of its own.
class WordEncoder {
 public:
  /// Make the table that all threads begin with: the words of the vocabulary, with what becomes of them. An entry that
  /// merges do not reach is what they make of it. \param vocabulary  Has to outlive it.
  explicit WordEncoder(const Vocabulary& vocabulary);

  /// Encode the words from `p` to `stop`. Both are places where words begin, or the ends of the text.
  /// \param end  Where the text ends. \param out  The tokens are put at its end.
  void encode(const std::uint8_t* p, const std::uint8_t* stop, const std::uint8_t* end, LearnedWords& learned,
              std::vector<std::uint32_t>& out, WordScan scan = WordScan::kBest) const;

  /// Return what LearnedWords hold at least.
  [[nodiscard]] std::size_t least_bytes() const { return first_words_.least_bytes(); }

  /// Merge one word without any table: the truth that tables repeat.
  void encode_word(std::span<const std::uint8_t> word, std::vector<std::uint32_t>& out) const;

 private:
  std::uint32_t* encode_chunk(const std::uint8_t* p, const std::uint8_t* end, std::span<const std::uint32_t> ends,
                              LearnedWords& learned, std::uint32_t* out) const;
  void begin(LearnedWords& learned) const;
  std::uint32_t* look_further(std::span<const std::uint8_t> word, const WordKey& key, std::uint64_t hash,
                              LearnedWords& learned, std::uint32_t* out) const;

  const Vocabulary& vocabulary_;
  WordMerger merger_;
  WordTable first_words_;
};

}  // namespace headrace::tokenizing
