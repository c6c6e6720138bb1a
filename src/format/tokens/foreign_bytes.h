// What the first bytes of a raw file of tokens say: other formats, text, and numbers of another width.
#pragma once

#include <headrace/dtype.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace headrace::token_files {

/// Return the name of a format whose files would be read as tokens without an error; empty: none is known.
std::string_view foreign_name(std::span<const std::byte> start);

/// Return true if these bytes are text: UTF-8 without control characters, or, if they are many, mostly letters of
/// ASCII.
bool is_text(std::span<const std::byte> start);

/// Return what looks wrong in numbers of this type, of which nothing but the reader says how wide they are; empty:
/// nothing does.
std::string width_doubt(const DType& type, std::span<const std::byte> start);

}  // namespace headrace::token_files
