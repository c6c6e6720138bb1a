#include "codec/compression/raw_deflate.h"

#include <fmt/format.h>
#include <libdeflate.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "codec/coded_bytes.h"

namespace headrace {
namespace {

struct FreeRawDecompressor {
  void operator()(libdeflate_decompressor* d) const { libdeflate_free_decompressor(d); }
};

}  // namespace

Status inflate_raw(std::span<const std::byte> in, std::span<std::byte> out) {
  thread_local const std::unique_ptr<libdeflate_decompressor, FreeRawDecompressor> decompressor(
      libdeflate_alloc_decompressor());
  if (decompressor == nullptr) return Error(ErrorCode::kOutOfBudget, "no memory for a decompressor");
  std::byte none;  // libdeflate compares pointers, so even an empty output needs one
  std::size_t read = 0, written = 0;
  switch (libdeflate_deflate_decompress_ex(decompressor.get(), in.data(), in.size(), out.empty() ? &none : out.data(),
                                           out.size(), &read, &written)) {
    case LIBDEFLATE_SUCCESS:
      break;
    case LIBDEFLATE_INSUFFICIENT_SPACE:
      return corrupt(fmt::format("the deflate stream holds more than the expected {} bytes", out.size()));
    default:
      return corrupt("the deflate stream is damaged");
  }
  if (written != out.size())
    return corrupt(fmt::format("the deflate stream holds {} bytes, {} are expected", written, out.size()));
  if (read != in.size()) return corrupt(fmt::format("the deflate stream ends after {} of {} bytes", read, in.size()));
  return {};
}

Result<std::size_t> inflate_raw_start(std::span<const std::byte> in, std::span<std::byte> out) {
  constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return Error(ErrorCode::kOutOfBudget, "no memory for a decompressor");
  stream.next_in = const_cast<Bytef*>(as_u8(in.data()));
  stream.avail_in = static_cast<uInt>(std::min(in.size(), kMost));
  stream.next_out = as_u8(out.data());
  stream.avail_out = static_cast<uInt>(std::min(out.size(), kMost));
  const int state = inflate(&stream, Z_SYNC_FLUSH);
  const std::size_t written = static_cast<std::size_t>(stream.next_out - as_u8(out.data()));
  inflateEnd(&stream);
  if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR) return corrupt("the deflate stream is damaged");
  return written;
}

std::uint32_t crc32_of(std::span<const std::byte> bytes) {
  return libdeflate_crc32(0, bytes.data(), bytes.size());
}

}  // namespace headrace
