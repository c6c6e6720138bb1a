// LZF, the way in: liblzf's stream format, as HDF5's filter 32000 (h5py) expects it. lzf.cpp is the way back.
#pragma once

#include <cstddef>
#include <span>

namespace headrace {

/// Compress `in` into the front of `out`. \return Bytes written, or 0 if they would not fit. Threads: any.
std::size_t lzf_compress(std::span<const std::byte> in, std::span<std::byte> out);

}  // namespace headrace
