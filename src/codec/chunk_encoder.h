// One chunk through the filters of HDF5's writers, in the thread that has it: libhdf5 would do the same on one thread
// under its lock, and has few of these filters. What is written here, codec.h decodes, and so does h5py (with
// hdf5plugin for lz4, zstd and Blosc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "codec/codec.h"

namespace headrace {

enum class Compression : std::uint8_t { kNone, kGzip, kLzf, kLz4, kZstd, kBloscLz4, kBloscZstd };

/// How chunks are written.
struct ChunkCoding {
  Compression compression = Compression::kNone;
  int level = 0;         ///< Level of gzip (0 to 9), zstd or Blosc (0 to 9); LZF and LZ4 have none.
  bool shuffle = false;  ///< HDF5's byte shuffle first; Blosc's own for Blosc.
  friend bool operator==(const ChunkCoding&, const ChunkCoding&) = default;
};

/// Return the coding as text, for example "zstd-1 + shuffle" or "none".
std::string to_string(const ChunkCoding& coding);

/// Return the filters in the order they are applied, with the parameters that HDF5 stores (its registered plug-ins).
/// \param element_bytes  Bytes an element.  \param chunk_bytes  Decoded bytes of a whole chunk.
std::vector<FilterSpec> filters_of(const ChunkCoding& coding, std::size_t element_bytes, std::size_t chunk_bytes);

struct EncodedChunk {
  std::vector<std::byte> bytes;
  std::uint32_t filter_mask = 0;  ///< Bit k set: filter k of the pipeline was skipped, as HDF5 stores it.
};

/// Return the chunk as it will lie in the file. \param element_bytes  Width of the byte shuffle. Threads: any.
/// Errors: kUnsupported  Blosc is not in this build, or cannot compress so; kOutOfBudget  no memory for a compressor.
Result<EncodedChunk> encode_chunk(std::span<const std::byte> decoded, std::size_t element_bytes,
                                  const ChunkCoding& coding);

/// Apply HDF5's shuffle filter: byte k of every element together. Both spans have the same size; bytes after the last
/// whole element are copied.
void shuffle_bytes(std::span<const std::byte> in, std::size_t element_bytes, std::span<std::byte> out);

/// Encode as encode_chunk() does, for Blosc, which a build may be without.
Result<EncodedChunk> encode_blosc(std::span<const std::byte> in, std::size_t element_bytes, const ChunkCoding& coding);

}  // namespace headrace
