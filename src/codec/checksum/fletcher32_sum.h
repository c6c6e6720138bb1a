// HDF5's Fletcher-32: over big-endian 16-bit words, an odd last byte counting as the upper half of a word.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headrace {

/// Return what H5_checksum_fletcher32 of HDF5 (H5checksum.c) does for every input; SIMD, chosen at run time.
std::uint32_t fletcher32_sum(const std::uint8_t* data, std::size_t size_bytes);

/// Compute the same by its definition.
std::uint32_t fletcher32_sum_scalar(const std::uint8_t* data, std::size_t size_bytes);

}  // namespace headrace
