// SHA-256, as FIPS 180-4 has it: by which known files are told, since their makers publish it.
#pragma once

#include <string>
#include <string_view>

namespace headrace {

/// Return the SHA-256 of bytes as 64 small hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace headrace
