// Where words end: chunks of a text at a time, with the widest instructions of this processor where there are some.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tokenizer/words/grammar.h"

namespace headrace::tokenizing {

/// Bytes that are looked at at once; what is written for them stays in the processor's cache.
inline constexpr std::size_t kChunkBytes = 16384;

/// How words are found. They are the same.
enum class WordScan : std::uint8_t {
  kBest,    ///< By masks of 64 bytes.
  kScalar,  ///< Character by character.
};

/// Find the words from `p`, where one begins, to about kChunkBytes behind it: one at least.
/// \param stop  No word goes past it; a word begins there, or the text ends. \param end  Where the text ends, which
/// decides what the last whitespace belongs to. \param buffer  What is returned lies there.
/// \return Where words end, counted from `p`; the last entry is where the next call goes on.
std::span<const std::uint32_t> find_word_ends(Grammar grammar, WordScan scan, const std::uint8_t* p,
                                              const std::uint8_t* stop, const std::uint8_t* end,
                                              std::vector<std::uint32_t>& buffer);

}  // namespace headrace::tokenizing
