// Contractions of English, which grammars take for words.
#pragma once

#include <cstdint>

namespace headrace::tokenizing {

/// Return the length of the contraction whose apostrophe is at `p` ('s 't 'm 'd 're 've 'll), or 0. \param any_case  As
/// (?i:…) with Unicode's folding, in which the long s (U+017F) is an s.
inline std::uint32_t contraction(const std::uint8_t* p, const std::uint8_t* end, bool any_case) {
  const auto at = [&](int k) -> std::uint8_t {
    if (end - p <= k) return 0;
    return any_case && p[k] >= 'A' && p[k] <= 'Z' ? static_cast<std::uint8_t>(p[k] | 0x20) : p[k];
  };
  const std::uint8_t first = at(1), second = at(2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  if ((first == 'r' || first == 'v') && second == 'e') return 3;
  if (first == 'l' && second == 'l') return 3;
  return any_case && first == 0xC5 && second == 0xBF ? 3 : 0;
}

}  // namespace headrace::tokenizing
