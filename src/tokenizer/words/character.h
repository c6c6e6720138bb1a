// One character of UTF-8 that need not be well formed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tokenizer/words/unicode_classes.h"

namespace headrace::tokenizing {

/// A character, or one byte that belongs to none.
struct Character {
  std::uint32_t bytes;
  CharacterClass kind;
};

/// Return the character at `p`, which is before `end`. A byte of ill-formed UTF-8 (a stray continuation, a character
/// cut short or longer than it need be, a surrogate, one above U+10FFFF) is a character of class kOther by itself.
inline Character character_at(const CharacterClass* classes, const std::uint8_t* p, const std::uint8_t* end) {
  const std::uint32_t lead = *p;
  if (lead < 0x80) return {1, classes[lead]};
  const Character ill_formed = {1, CharacterClass::kOther};
  const auto continues = [&](int k) { return end - p > k && (p[k] & 0xC0) == 0x80; };
  const auto bits = [&](int k) -> std::uint32_t { return p[k] & 0x3Fu; };
  if (lead < 0xC2 || lead > 0xF4 || !continues(1)) return ill_formed;
  if (lead < 0xE0) return {2, classes[(lead & 31) << 6 | bits(1)]};
  if (!continues(2)) return ill_formed;
  if (lead < 0xF0) {
    const std::uint32_t code = (lead & 15) << 12 | bits(1) << 6 | bits(2);
    return code < 0x800 || code >> 11 == 0x1B ? ill_formed : Character{3, classes[code]};
  }
  if (!continues(3)) return ill_formed;
  const std::uint32_t code = (lead & 7) << 18 | bits(1) << 12 | bits(2) << 6 | bits(3);
  return code < 0x10000 || code > 0x10FFFF ? ill_formed : Character{4, classes[code]};
}

}  // namespace headrace::tokenizing
