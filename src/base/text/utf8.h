// UTF-8, a character at a time: what is well formed.
#pragma once

#include <cstddef>
#include <string_view>

namespace headrace {

/// A character, or what there is of one.
struct Utf8Sequence {
  std::size_t bytes;
  bool is_whole;
};

/// Return what begins at a byte of a text, by table 3-7 of Unicode 16.0: a character, or the longest start of one.
Utf8Sequence utf8_sequence_at(std::string_view text, std::size_t at);

/// Return true if a text is well-formed UTF-8. For short ones, such as names.
bool is_utf8(std::string_view text);

}  // namespace headrace
