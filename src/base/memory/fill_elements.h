// Elements that no file has: copies of a fill value.
#pragma once

#include <cstddef>
#include <span>

namespace headrace {

/// Fill `out`, which is a multiple of `element_bytes`, with copies of one element. \param first  Its first bytes; the
/// others are zeros.
void fill_elements(std::span<const std::byte> first, std::size_t element_bytes, std::span<std::byte> out);

}  // namespace headrace
