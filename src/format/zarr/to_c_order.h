// The elements of a chunk from the order in which they are stored to C order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headrace::zarr {

/// Copy a chunk. \param shape  Of the chunk, C order. \param order  Its axes as they are stored, the slowest first.
/// \param out  As large as `in`, elsewhere.
void to_c_order(std::span<const std::byte> in, const std::vector<std::uint64_t>& shape,
                const std::vector<std::size_t>& order, std::size_t element_bytes, std::span<std::byte> out);

}  // namespace headrace::zarr
