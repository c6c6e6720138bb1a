// Escapes of a line of JSON that are no characters.
#pragma once

#include <string>
#include <string_view>

namespace headrace::corpora {

/// Return the line with `instead`, an escape of six characters, for each "\ud800" that is no half of a pair (RFC 8259,
/// section 8.2), as Python's json writes those of its texts.
std::string with_pairs_alone(std::string_view line, std::string_view instead);

}  // namespace headrace::corpora
