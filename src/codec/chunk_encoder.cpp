#include "codec/chunk_encoder.h"

#include <fmt/format.h>
#include <lz4.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "codec/compression/lzf_compress.h"
#include "codec/elements/byte_planes.h"

namespace headrace {
namespace {

Result<EncodedChunk> deflate(std::span<const std::byte> in, int level) {
  EncodedChunk chunk;
  uLongf size = compressBound(in.size());
  chunk.bytes.resize(size);
  // The same call as HDF5's deflate filter, so the same bytes as libhdf5 with this zlib.
  const int status = compress2(reinterpret_cast<Bytef*>(chunk.bytes.data()), &size,
                               reinterpret_cast<const Bytef*>(in.data()), in.size(), level);
  if (status != Z_OK) return Error(ErrorCode::kInternal, fmt::format("zlib's compress2 returned {}", status));
  chunk.bytes.resize(size);
  chunk.bytes.shrink_to_fit();
  return chunk;
}

EncodedChunk lzf(std::span<const std::byte> in, std::uint32_t mask_bit) {
  EncodedChunk chunk;
  chunk.bytes.resize(in.size());
  const std::size_t size = lzf_compress(in, chunk.bytes);
  if (size == 0) {  // does not shrink: HDF5 then skips the filter for this chunk
    chunk.bytes.assign(in.begin(), in.end());
    chunk.filter_mask = mask_bit;
    return chunk;
  }
  chunk.bytes.resize(size);
  chunk.bytes.shrink_to_fit();
  return chunk;
}

void store_be32(std::byte* to, std::uint32_t value) {
  if constexpr (std::endian::native == std::endian::little) value = __builtin_bswap32(value);
  std::memcpy(to, &value, sizeof value);
}

/// The stream that lz4.cpp describes. \param in  At most 4 GiB.
EncodedChunk lz4(std::span<const std::byte> in) {
  constexpr std::size_t kBlockBytes = 1 << 30;  // what the plug-in takes by itself
  const std::size_t block = std::max<std::size_t>(std::min(in.size(), kBlockBytes), 1);
  EncodedChunk chunk;
  std::size_t at = 12;
  chunk.bytes.resize(at + in.size() + in.size() / 255 + 64);
  store_be32(chunk.bytes.data(), static_cast<std::uint32_t>(in.size() >> 32));
  store_be32(chunk.bytes.data() + 4, static_cast<std::uint32_t>(in.size()));
  store_be32(chunk.bytes.data() + 8, static_cast<std::uint32_t>(block));
  for (std::size_t from = 0; from < in.size(); from += block) {
    const std::size_t size = std::min(block, in.size() - from);
    std::byte* const to = chunk.bytes.data() + at + 4;
    const int room = static_cast<int>(std::min<std::size_t>(chunk.bytes.size() - at - 4, 0x7FFFFFFF));
    int made = LZ4_compress_default(reinterpret_cast<const char*>(in.data() + from), reinterpret_cast<char*>(to),
                                    static_cast<int>(size), room);
    if (made <= 0 || static_cast<std::size_t>(made) >= size) {  // as long as it decodes to: stored raw
      std::memcpy(to, in.data() + from, size);
      made = static_cast<int>(size);
    }
    store_be32(chunk.bytes.data() + at, static_cast<std::uint32_t>(made));
    at += 4 + static_cast<std::size_t>(made);
  }
  chunk.bytes.resize(at);
  chunk.bytes.shrink_to_fit();
  return chunk;
}

Result<EncodedChunk> zstd(std::span<const std::byte> in, int level) {
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  thread_local const std::unique_ptr<ZSTD_CCtx, Free> context(ZSTD_createCCtx());
  if (context == nullptr) return Error(ErrorCode::kOutOfBudget, "no memory for a compressor");
  EncodedChunk chunk;
  chunk.bytes.resize(ZSTD_compressBound(in.size()));
  const std::size_t size =
      ZSTD_compressCCtx(context.get(), chunk.bytes.data(), chunk.bytes.size(), in.data(), in.size(), level);
  if (ZSTD_isError(size))
    return Error(ErrorCode::kOutOfBudget, fmt::format("zstd could not compress: {}", ZSTD_getErrorName(size)));
  chunk.bytes.resize(size);
  chunk.bytes.shrink_to_fit();
  return chunk;
}

}  // namespace

std::string to_string(const ChunkCoding& coding) {
  const std::string shuffle = coding.shuffle ? " + shuffle" : "";
  switch (coding.compression) {
    case Compression::kNone:
      return coding.shuffle ? "shuffle" : "none";
    case Compression::kGzip:
      return fmt::format("gzip-{}{}", coding.level, shuffle);
    case Compression::kLzf:
      return "LZF" + shuffle;
    case Compression::kLz4:
      return "LZ4" + shuffle;
    case Compression::kZstd:
      return fmt::format("zstd-{}{}", coding.level, shuffle);
    case Compression::kBloscLz4:
      return "Blosc LZ4" + shuffle;
    case Compression::kBloscZstd:
      return fmt::format("Blosc zstd-{}{}", coding.level, shuffle);
  }
  return "unknown";
}

std::vector<FilterSpec> filters_of(const ChunkCoding& coding, std::size_t element_bytes, std::size_t chunk_bytes) {
  const auto width = static_cast<std::uint32_t>(element_bytes), size = static_cast<std::uint32_t>(chunk_bytes),
             level = static_cast<std::uint32_t>(coding.level);
  std::vector<FilterSpec> filters;
  const bool blosc = coding.compression == Compression::kBloscLz4 || coding.compression == Compression::kBloscZstd;
  if (coding.shuffle && !blosc) filters.push_back({"shuffle", {width}});
  switch (coding.compression) {
    case Compression::kNone:
      break;
    case Compression::kGzip:
      filters.push_back({"deflate", {level}});
      break;
    case Compression::kLzf:
      filters.push_back({"lzf", {4 /* filter revision */, 0x0105 /* LZF version */, size}});
      break;
    case Compression::kLz4:
      filters.push_back({"lz4", {0 /* blocks of the default size */}});
      break;
    case Compression::kZstd:
      filters.push_back({"zstd", {level}});
      break;
    case Compression::kBloscLz4:
    case Compression::kBloscZstd:
      filters.push_back({"blosc",
                         {2, 2, width, size, level, coding.shuffle ? 1U : 0U,
                          coding.compression == Compression::kBloscLz4 ? 1U : 5U}});
      break;
  }
  return filters;
}

void shuffle_bytes(std::span<const std::byte> in, std::size_t element_bytes, std::span<std::byte> out) {
  const std::size_t elements = in.size() / element_bytes, whole = elements * element_bytes;
  split_planes(reinterpret_cast<const std::uint8_t*>(in.data()), elements, element_bytes,
               reinterpret_cast<std::uint8_t*>(out.data()));
  std::copy(in.begin() + static_cast<std::ptrdiff_t>(whole), in.end(),
            out.begin() + static_cast<std::ptrdiff_t>(whole));
}

Result<EncodedChunk> encode_chunk(std::span<const std::byte> decoded, std::size_t element_bytes,
                                  const ChunkCoding& coding) {
  if (coding.compression == Compression::kBloscLz4 || coding.compression == Compression::kBloscZstd)
    return encode_blosc(decoded, element_bytes, coding);
  std::vector<std::byte> shuffled;
  std::span<const std::byte> in = decoded;
  if (coding.shuffle) {
    shuffled.resize(decoded.size());
    shuffle_bytes(decoded, element_bytes, shuffled);
    in = shuffled;
  }
  switch (coding.compression) {
    case Compression::kGzip:
      return deflate(in, coding.level);
    case Compression::kLzf:
      return lzf(in, coding.shuffle ? 2U : 1U);
    case Compression::kLz4:
      return lz4(in);
    case Compression::kZstd:
      return zstd(in, coding.level);
    default:
      return EncodedChunk{.bytes = {in.begin(), in.end()}};
  }
}

}  // namespace headrace
