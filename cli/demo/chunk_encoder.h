// One chunk through HDF5's filters, in the thread that made it. libhdf5 would do the same on one thread under its lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "demo/jet_options.h"

namespace headrace::demo {

struct EncodedChunk {
  std::vector<std::byte> bytes;
  std::uint32_t filter_mask = 0;  ///< bit k set: filter k of the pipeline was skipped, as HDF5 stores it
};

/// The chunk as it will lie in the file. `element_bytes` is the width for shuffles. Threads: any.
Result<EncodedChunk> encode_chunk(std::span<const std::byte> decoded, std::size_t element_bytes,
                                  const Storage& storage);

/// HDF5's shuffle filter: byte k of every element together. Both spans have the same size.
void shuffle_bytes(std::span<const std::byte> in, std::size_t element_bytes, std::span<std::byte> out);

/// LZF (liblzf's stream format, as h5py's filter 32000 expects). Returns the bytes written to `out`, or 0 where they
/// would not fit into it.
std::size_t lzf_compress(std::span<const std::byte> in, std::span<std::byte> out);

}  // namespace headrace::demo
