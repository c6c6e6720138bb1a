// gzip: one or more gzip members (RFC 1952), one behind the other, as Parquet's GZIP pages hold them; each has a CRC-32
// and its length. Some writers put a zlib stream (RFC 1950) there instead, which is told by its first byte. libdeflate
// decodes; where it refuses a stream, explain_inflate.h says why.
#include <fmt/format.h>
#include <libdeflate.h>

#include "codec/codec.h"
#include "codec/coded_bytes.h"
#include "codec/compression/explain_inflate.h"

namespace headrace {
namespace {

struct FreeGzipDecompressor {
  void operator()(libdeflate_decompressor* d) const { libdeflate_free_decompressor(d); }
};

libdeflate_decompressor* thread_gzip_decompressor() {
  thread_local const std::unique_ptr<libdeflate_decompressor, FreeGzipDecompressor> decompressor(
      libdeflate_alloc_decompressor());
  return decompressor.get();
}

bool begins_gzip_member(std::span<const std::byte> in) {
  return in.size() >= 2 && in[0] == std::byte{0x1f} && in[1] == std::byte{0x8b};
}

class Gzip final : public Codec {
 public:
  [[nodiscard]] std::string_view name() const override { return "gzip"; }

  // Bytes behind the last member, or behind a zlib stream, are refused: a page is as long as its header says, so they
  // are damage.
  Result<std::size_t> decode(std::span<const std::byte> in, std::span<std::byte> out) const override {
    libdeflate_decompressor* decompressor = thread_gzip_decompressor();
    if (decompressor == nullptr) return Error(ErrorCode::kOutOfBudget, "no memory for a decompressor");
    const bool gzip = in.empty() || in.front() == std::byte{0x1f};  // no zlib stream begins so
    const auto inflate = gzip ? libdeflate_gzip_decompress_ex : libdeflate_zlib_decompress_ex;
    std::byte none;  // libdeflate compares pointers, so even an empty output needs one
    std::size_t read = 0, written = 0, members = 0;
    do {
      const std::span<const std::byte> rest = in.subspan(read);
      const std::span<std::byte> room = out.subspan(written);
      if (members > 0 && (!gzip || !begins_gzip_member(rest)))
        return corrupt(
            fmt::format("{} bytes behind the end of the stream, which holds {} bytes", rest.size(), written));
      std::size_t taken = 0, made = 0;
      const auto result = inflate(decompressor, rest.data(), rest.size(), out.empty() ? &none : room.data(),
                                  room.size(), &taken, &made);
      if (result == LIBDEFLATE_INSUFFICIENT_SPACE)
        return corrupt(fmt::format("stream holds more than the expected {} bytes", out.size()));
      if (result != LIBDEFLATE_SUCCESS) {
        Error error = explain_inflate(rest, room, gzip ? InflateWrapper::kGzip : InflateWrapper::kZlib);
        if (members == 0) return error;
        return corrupt(fmt::format("gzip member {}, at byte {}: {}", members + 1, read, error.message()));
      }
      read += taken;
      written += made;
      ++members;
    } while (read < in.size());
    return written;
  }
};

}  // namespace

Result<std::unique_ptr<Codec>> make_gzip(const FilterSpec& /*spec*/, const ChunkForm& /*form*/) {
  return std::unique_ptr<Codec>(std::make_unique<Gzip>());
}

}  // namespace headrace
