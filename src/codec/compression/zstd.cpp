// zstd (HDF5 filter 32015): one Zstandard frame, or several in a row (RFC 8878); client value 0 is the level.
// Bytes behind the last frame that are no frame themselves are refused: libzstd takes them for a damaged one.
#include <fmt/format.h>

#include "codec/codec.h"
#include "codec/coded_bytes.h"
#include "codec/compression/zstd_context.h"

namespace headrace {
namespace {

class Zstd final : public Codec {
 public:
  explicit Zstd(std::string level) : level_(std::move(level)) {}
  [[nodiscard]] std::string_view name() const override { return "zstd"; }
  [[nodiscard]] std::string setting() const override { return level_; }

  Result<std::size_t> decode(std::span<const std::byte> in, std::span<std::byte> out) const override {
    ZSTD_DCtx* context = thread_zstd_context();
    if (context == nullptr) return Error(ErrorCode::kOutOfBudget, "no memory for a decompressor");
    const unsigned long long declared = ZSTD_getFrameContentSize(in.data(), in.size());
    if (declared != ZSTD_CONTENTSIZE_UNKNOWN && declared != ZSTD_CONTENTSIZE_ERROR && declared > out.size())
      return corrupt(fmt::format("the frame holds {} bytes where {} are expected", declared, out.size()));
    const std::size_t written = ZSTD_decompressDCtx(context, out.data(), out.size(), in.data(), in.size());
    if (ZSTD_isError(written))
      return corrupt(fmt::format("damaged stream ({}), {} bytes expected", ZSTD_getErrorName(written), out.size()));
    return written;
  }

 private:
  std::string level_;
};

}  // namespace

Result<std::unique_ptr<Codec>> make_zstd(const FilterSpec& spec, const ChunkForm& /*form*/) {
  std::string level = spec.parameters.empty() ? "" : fmt::format("{}", static_cast<std::int32_t>(spec.parameters[0]));
  return std::unique_ptr<Codec>(std::make_unique<Zstd>(std::move(level)));
}

}  // namespace headrace
