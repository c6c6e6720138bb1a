#include <blosc.h>
#include <fmt/format.h>

#include "codec/chunk_encoder.h"

namespace headrace {

Result<EncodedChunk> encode_blosc(std::span<const std::byte> in, std::size_t element_bytes, const ChunkCoding& coding) {
  const char* const compressor = coding.compression == Compression::kBloscLz4 ? "lz4" : "zstd";
  EncodedChunk chunk;
  chunk.bytes.resize(in.size() + BLOSC_MAX_OVERHEAD);
  const int size = blosc_compress_ctx(coding.level, coding.shuffle ? BLOSC_SHUFFLE : BLOSC_NOSHUFFLE, element_bytes,
                                      in.size(), in.data(), chunk.bytes.data(), chunk.bytes.size(), compressor,
                                      /*blocksize=*/0, /*numinternalthreads=*/1);
  if (size <= 0) {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("c-blosc could not compress {} bytes with {} (returned {})", in.size(), compressor, size))
        .with_hint(fmt::format("This c-blosc may be built without {}: use another codec.", compressor));
  }
  chunk.bytes.resize(static_cast<std::size_t>(size));
  chunk.bytes.shrink_to_fit();
  return chunk;
}

}  // namespace headrace
