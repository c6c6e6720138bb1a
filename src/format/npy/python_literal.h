// A Python literal, as the headers of .npy files hold one: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4)}.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headrace::npy {

struct Literal {
  enum class Kind : std::uint8_t { kNone, kBool, kNumber, kText, kTuple, kList, kDict };
  Kind kind = Kind::kNone;
  std::uint64_t number = 0;    ///< Also of kBool: 0 or 1.
  std::string text;            ///< Bytes between the quotes, escapes resolved.
  std::vector<Literal> items;  ///< Items of kDict: key, value, key, value, …

  /// Return the value of a text key of a kDict, or null.
  [[nodiscard]] const Literal* find(std::string_view key) const;
};

/// Parse one literal with white space around it: dict, list, tuple, text without exotic escapes, whole numbers from 0
/// to 2^64 - 1, True, False, None. Nesting beyond 32 levels is refused, so that no input exhausts the stack. Errors:
/// kCorruptData  anything else; the text says at which byte.
Result<Literal> parse_literal(std::string_view text);

}  // namespace headrace::npy
