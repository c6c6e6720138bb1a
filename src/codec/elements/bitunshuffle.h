// The bit transpose behind bitshuffle.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headrace {

/// Turn one bitshuffle block back to elements. Bit k of byte b of element e is stored as bit e % 8 of byte
/// (b * 8 + k) * elements / 8 + e / 8. Source: bitshuffle_core.c.
/// `elements` is a multiple of 8; `in` and `out` hold elements * element_bytes bytes and do not overlap.
/// SIMD, chosen at run time.
void bitunshuffle(const std::uint8_t* in, std::size_t elements, std::size_t element_bytes, std::uint8_t* out);

/// Compute the same by its definition.
void bitunshuffle_scalar(const std::uint8_t* in, std::size_t elements, std::size_t element_bytes, std::uint8_t* out);

}  // namespace headrace
