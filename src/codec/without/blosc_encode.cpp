// In place of codec/compression/blosc_encode.cpp in a build without its library (HEADRACE_WITH_BLOSC=OFF).
#include "codec/chunk_encoder.h"

namespace headrace {

Result<EncodedChunk> encode_blosc(std::span<const std::byte> /*in*/, std::size_t /*element_bytes*/,
                                  const ChunkCoding& /*coding*/) {
  return Error(ErrorCode::kUnsupported, "this build is without blosc")
      .with_hint(
          "Choose another codec, or install libblosc-dev and build with "
          "-DHEADRACE_WITH_BLOSC=ON.");
}

}  // namespace headrace
