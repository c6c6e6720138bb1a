#include "demo/chunk_encoder.h"

#include <blosc.h>
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

namespace headrace::demo {
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

Result<EncodedChunk> blosc_zstd(std::span<const std::byte> in, std::size_t element_bytes, const Storage& storage) {
  EncodedChunk chunk;
  chunk.bytes.resize(in.size() + BLOSC_MAX_OVERHEAD);
  const int size = blosc_compress_ctx(storage.level, storage.shuffle ? BLOSC_SHUFFLE : BLOSC_NOSHUFFLE, element_bytes,
                                      in.size(), in.data(), chunk.bytes.data(), chunk.bytes.size(), "zstd",
                                      /*blocksize=*/0, /*numinternalthreads=*/1);
  if (size <= 0) {
    return Error(ErrorCode::kUnsupported, fmt::format("c-blosc could not compress with zstd (returned {})", size))
        .with_hint("This c-blosc may be built without zstd: use another storage.");
  }
  chunk.bytes.resize(static_cast<std::size_t>(size));
  chunk.bytes.shrink_to_fit();
  return chunk;
}

}  // namespace

void shuffle_bytes(std::span<const std::byte> in, std::size_t element_bytes, std::span<std::byte> out) {
  const std::size_t elements = in.size() / element_bytes;
  for (std::size_t byte = 0; byte < element_bytes; ++byte) {
    std::byte* plane = out.data() + byte * elements;
    for (std::size_t i = 0; i < elements; ++i) plane[i] = in[i * element_bytes + byte];
  }
}

std::size_t lzf_compress(std::span<const std::byte> in, std::span<std::byte> out) {
  constexpr std::size_t kMaxLiterals = 32;
  constexpr std::size_t kMaxDistance = 8192;
  constexpr std::size_t kMaxMatch = 264;
  constexpr std::size_t kHashBits = 16;
  std::vector<std::uint32_t> seen(std::size_t{1} << kHashBits, 0);  // position + 1 of the last three bytes like these
  const auto byte_at = [&](std::size_t i) { return std::to_integer<std::uint32_t>(in[i]); };
  const auto hash_at = [&](std::size_t i) {
    const std::uint32_t three = byte_at(i) << 16 | byte_at(i + 1) << 8 | byte_at(i + 2);
    return (three * 2654435761U) >> (32 - kHashBits);
  };

  std::size_t written = 0;
  std::size_t literals_from = 0;
  const auto flush_literals = [&](std::size_t until) {
    while (literals_from < until) {
      const std::size_t run = std::min(until - literals_from, kMaxLiterals);
      if (written + 1 + run > out.size()) return false;
      out[written++] = static_cast<std::byte>(run - 1);
      std::copy_n(in.data() + literals_from, run, out.data() + written);
      written += run;
      literals_from += run;
    }
    return true;
  };

  std::size_t at = 0;
  while (at + 3 <= in.size()) {
    std::uint32_t& slot = seen[hash_at(at)];
    const std::size_t candidate = slot;
    slot = static_cast<std::uint32_t>(at + 1);
    if (candidate == 0 || at - (candidate - 1) > kMaxDistance ||
        !std::equal(in.data() + candidate - 1, in.data() + candidate + 2, in.data() + at)) {
      ++at;
      continue;
    }
    const std::size_t from = candidate - 1;
    const std::size_t limit = std::min(in.size() - at, kMaxMatch);
    std::size_t length = 3;
    while (length < limit && in[from + length] == in[at + length]) ++length;
    if (!flush_literals(at) || written + 3 > out.size()) return 0;
    const std::size_t distance = at - from - 1;
    const std::size_t code = length - 2;
    out[written++] = static_cast<std::byte>((code < 7 ? code : 7) << 5 | distance >> 8);
    if (code >= 7) out[written++] = static_cast<std::byte>(code - 7);
    out[written++] = static_cast<std::byte>(distance & 0xFF);
    at += length;
    literals_from = at;
  }
  return flush_literals(in.size()) ? written : 0;
}

Result<EncodedChunk> encode_chunk(std::span<const std::byte> decoded, std::size_t element_bytes,
                                  const Storage& storage) {
  if (storage.compression == Compression::kBloscZstd) return blosc_zstd(decoded, element_bytes, storage);
  std::vector<std::byte> shuffled;
  std::span<const std::byte> in = decoded;
  if (storage.shuffle) {
    shuffled.resize(decoded.size());
    shuffle_bytes(decoded, element_bytes, shuffled);
    in = shuffled;
  }
  switch (storage.compression) {
    case Compression::kGzip:
      return deflate(in, storage.level);
    case Compression::kLzf:
      return lzf(in, storage.shuffle ? 2U : 1U);
    default:
      return EncodedChunk{.bytes = {in.begin(), in.end()}};
  }
}

}  // namespace headrace::demo
