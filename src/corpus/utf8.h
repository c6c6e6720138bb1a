// UTF-8 that need not be well formed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headrace::corpora {

/// Return where the first ill-formed sequence begins; npos: there is none.
std::size_t first_ill_formed(std::string_view text);
/// Put U+FFFD in place of each ill-formed sequence: the longest start of a character that is there, or one byte, as
/// Python's errors="replace" and the WHATWG's decoder do (Unicode 16.0, section 3.9, table 3-11).
std::string replace_ill_formed(std::string_view text);

}  // namespace headrace::corpora
