// The byte transpose behind shuffle, and the last step of bitshuffle.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headrace {

/// Write out[e * element_bytes + b] = in[b * elements + e]: byte planes to elements. Both hold elements * element_bytes
/// bytes and do not overlap. SIMD, chosen at run time, for 2, 3, 4 and all sizes from 8 bytes.
void unshuffle(const std::uint8_t* in, std::size_t elements, std::size_t element_bytes, std::uint8_t* out);

/// Compute the same by its definition.
void unshuffle_scalar(const std::uint8_t* in, std::size_t elements, std::size_t element_bytes, std::uint8_t* out);

}  // namespace headrace
