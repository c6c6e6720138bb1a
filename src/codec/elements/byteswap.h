// Byte order, in place.
#pragma once

#include <cstddef>
#include <span>

namespace headrace {

/// Reverse the bytes of each number of `number_bytes` bytes; a complex number is two. Bytes after the last whole number
/// are left alone. SIMD, chosen at run time, for 2, 4 and 8; a size of 1 does nothing. Any alignment.
void swap_bytes(std::span<std::byte> data, std::size_t number_bytes);

/// Compute the same by its definition.
void swap_bytes_scalar(std::span<std::byte> data, std::size_t number_bytes);

}  // namespace headrace
