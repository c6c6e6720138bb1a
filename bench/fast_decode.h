// The decoders of the yardstick: each as fast as we know how, and used for nothing but measuring.
#pragma once

#include <cstddef>

struct libdeflate_decompressor;

namespace bench {

/// Bytes past the end of every buffer that decoders may scribble on.
inline constexpr std::size_t kSlackBytes = 512;

/// HDF5's shuffle undone, for 1-, 2-, 4- and 8-byte elements; the rest of the last element is copied.
void unshuffle(const std::byte* in, std::size_t bytes, std::size_t element_bytes, std::byte* out);

/// LZF; `out` has kSlackBytes after out_bytes. Returns the bytes written, 0 for a damaged stream.
std::size_t lzf_decompress(const std::byte* in, std::size_t in_bytes, std::byte* out, std::size_t out_bytes);

}  // namespace bench
