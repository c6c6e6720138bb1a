// The byte shuffle itself: elements to byte planes, which compress better. unshuffle.h is the way back.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headrace {

/// Write out[b * elements + e] = in[e * element_bytes + b]. Both hold elements * element_bytes bytes and do not
/// overlap. SIMD, chosen at run time, for 2, 3, 4 and 8 bytes.
void split_planes(const std::uint8_t* in, std::size_t elements, std::size_t element_bytes, std::uint8_t* out);

}  // namespace headrace
