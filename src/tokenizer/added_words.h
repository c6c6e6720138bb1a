// Added words in a text: found before anything else, and what is between them is ordinary text.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tokenizer/vocabulary/vocabulary.h"

namespace headrace::tokenizing {

/// Which special words are looked for. Added words that are not special always are, as in the library tokenizers.
struct SpecialWords {
  bool all = false;
  std::vector<std::string> some = {};
};

/// Finds added words as tokenizers does: the leftmost, and of those the longest; those that are `normalized` in what
/// the others leave. Threads: find() from any.
class AddedWords {
 public:
  /// A stretch of ordinary text, or one added word.
  struct TextPart {
    const std::uint8_t *begin, *end;
    std::int64_t id;  ///< -1: ordinary text.
  };

  /// Errors: kInvalidArgument  a word that is none of the added ones; kUnsupported  one that takes the whitespace
  /// beside it, or overlaps another in ranks of tiktoken's, which leave open which one is found.
  static Result<AddedWords> make(const Vocabulary& vocabulary, const SpecialWords& wanted);
  [[nodiscard]] bool empty() const { return passes_[0].words.empty() && passes_[1].words.empty(); }
  /// Add the parts of a text, in order; ordinary ones are not empty.
  void find(const std::uint8_t* begin, const std::uint8_t* end, std::vector<TextPart>& parts) const;

 private:
  struct Pass {
    std::vector<AddedWord> words;  ///< By first byte, then the longest first.
    std::array<std::uint32_t, 257> first = {};
  };
  static void index(Pass& pass);
  template <class Ordinary>
  static void find_in(const Pass& pass, const std::uint8_t* begin, const std::uint8_t* end,
                      std::vector<TextPart>& parts, const Ordinary& ordinary);
  std::array<Pass, 2> passes_;
};

}  // namespace headrace::tokenizing
