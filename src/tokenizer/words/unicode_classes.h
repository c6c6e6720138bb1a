// Classes of characters in one pinned version of Unicode: those that the patterns of tokenizers ask for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headrace::tokenizing {

enum class CharacterClass : std::uint8_t {
  kOther,   ///< Also every byte of ill-formed UTF-8.
  kSpace,   ///< \s
  kLetter,  ///< \p{L}
  kNumber,  ///< \p{N}
};

/// Characters first to last, both included.
struct CharacterRange {
  std::uint32_t first, last;
  CharacterClass kind;
};

/// Return the ranges of all classes but kOther, in order.
std::span<const CharacterRange> unicode_ranges();

/// Return the class of each code point, 0x110000 of them. Made once; from any thread.
const CharacterClass* unicode_classes();

}  // namespace headrace::tokenizing
