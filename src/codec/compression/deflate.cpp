// deflate (HDF5 filter 1, h5py's "gzip"): a zlib stream (RFC 1950). libdeflate decodes; where it refuses a stream,
// explain_inflate.h says why.
#include <fmt/format.h>
#include <libdeflate.h>

#include "codec/codec.h"
#include "codec/coded_bytes.h"
#include "codec/compression/explain_inflate.h"

namespace headrace {
namespace {

struct FreeDecompressor {
  void operator()(libdeflate_decompressor* d) const { libdeflate_free_decompressor(d); }
};

libdeflate_decompressor* thread_decompressor() {
  thread_local const std::unique_ptr<libdeflate_decompressor, FreeDecompressor> decompressor(
      libdeflate_alloc_decompressor());
  return decompressor.get();
}

class Deflate final : public Codec {
 public:
  explicit Deflate(std::string level) : level_(std::move(level)) {}
  [[nodiscard]] std::string_view name() const override { return "deflate"; }
  [[nodiscard]] std::string setting() const override { return level_; }

  // Bytes after the end of the stream are ignored, as HDF5 does: a stream says itself where it ends, its checksum has
  // been compared by then, and writers may leave room behind it.
  Result<std::size_t> decode(std::span<const std::byte> in, std::span<std::byte> out) const override {
    libdeflate_decompressor* decompressor = thread_decompressor();
    if (decompressor == nullptr) return Error(ErrorCode::kOutOfBudget, "no memory for a decompressor");
    std::byte none;  // libdeflate compares pointers, so even an empty output needs one
    std::size_t written = 0;
    const auto result = libdeflate_zlib_decompress(decompressor, in.data(), in.size(), out.empty() ? &none : out.data(),
                                                   out.size(), &written);
    if (result == LIBDEFLATE_SUCCESS) return written;
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE)
      return corrupt(fmt::format("stream holds more than the expected {} bytes", out.size()));
    return explain_inflate(in, out, InflateWrapper::kZlib);
  }

 private:
  std::string level_;
};

}  // namespace

Result<std::unique_ptr<Codec>> make_deflate(const FilterSpec& spec, const ChunkForm& /*form*/) {
  return std::unique_ptr<Codec>(
      std::make_unique<Deflate>(spec.parameters.empty() ? std::string() : std::to_string(spec.parameters.front())));
}

}  // namespace headrace
