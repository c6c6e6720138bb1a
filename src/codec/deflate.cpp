// deflate (HDF5 filter 1, h5py's "gzip"): a zlib stream (RFC 1950). libdeflate decodes; it only says that a stream is
// bad, so zlib is asked once more, after the fact, where and why.
#include <fmt/format.h>
#include <libdeflate.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "codec/codec.h"
#include "codec/coded_bytes.h"

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

// Decodes again, slowly, into the same buffer.
Error explain(std::span<const std::byte> in, std::span<std::byte> out) {
  constexpr std::size_t kStep = std::numeric_limits<uInt>::max();
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return corrupt("damaged stream");
  std::size_t in_used = 0, out_used = 0;
  int state = Z_OK;
  while (state == Z_OK) {
    const std::size_t in_step = std::min(in.size() - in_used, kStep), out_step = std::min(out.size() - out_used, kStep);
    stream.next_in = const_cast<Bytef*>(as_u8(in.data()) + in_used);
    stream.avail_in = static_cast<uInt>(in_step);
    stream.next_out = as_u8(out.data()) + out_used;
    stream.avail_out = static_cast<uInt>(out_step);
    state = inflate(&stream, Z_NO_FLUSH);
    const std::size_t taken = in_step - stream.avail_in, made = out_step - stream.avail_out;
    in_used += taken;
    out_used += made;
    if (state == Z_OK && taken == 0 && made == 0) state = Z_BUF_ERROR;
  }
  std::string why = stream.msg != nullptr ? stream.msg : "";
  inflateEnd(&stream);
  if (why == "incorrect data check") return corrupt(fmt::format("adler32 checksum mismatch over {} bytes", out_used));
  if (state == Z_BUF_ERROR && in_used == in.size() && out_used < out.size())
    return corrupt(fmt::format("stream ends after {} of {} bytes", out_used, out.size()));
  if (state == Z_BUF_ERROR && out_used == out.size() && in_used == in.size())
    return corrupt(fmt::format("stream ends without its checksum after {} bytes", out_used));
  if (state == Z_BUF_ERROR) return corrupt(fmt::format("stream holds more than the expected {} bytes", out.size()));
  if (state == Z_NEED_DICT) why = "a preset dictionary is asked for";
  return corrupt(fmt::format("damaged stream after {} of {} bytes ({})", out_used, out.size(),
                             why.empty() ? "invalid data" : why));
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
    return explain(in, out);
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
