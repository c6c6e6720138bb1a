// Numbers of a line of JSON that no parser of 64 bits takes.
#pragma once

#include <string>
#include <string_view>

namespace headrace::corpora {

/// Return the line with 0 in place of each number, and null in place of NaN, Infinity and -Infinity, which Python's
/// json writes; texts stay. What is no number by the grammar of JSON (RFC 8259, section 6) stays too, and so is an
/// error still.
std::string without_numbers(std::string_view line);

}  // namespace headrace::corpora
