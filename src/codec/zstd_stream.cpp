#include <fmt/format.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <bit>

#include "codec/stream_decoder.h"

namespace headrace {
namespace {

class ZstdStream final : public StreamDecoder {
 public:
  explicit ZstdStream(ZSTD_DCtx* context) : context_(context) {}
  ~ZstdStream() override { ZSTD_freeDCtx(context_); }
  ZstdStream(const ZstdStream&) = delete;
  ZstdStream& operator=(const ZstdStream&) = delete;

  Result<Step> decode(std::span<const std::byte> in, std::span<std::byte> out) override {
    if (in.empty() && is_between_) return Step{};
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const std::size_t left = ZSTD_decompressStream(context_, &to, &from);
    if (ZSTD_isError(left)) {
      const bool is_large = ZSTD_getErrorCode(left) == ZSTD_error_frameParameter_windowTooLarge;
      Error error(is_large ? ErrorCode::kOutOfBudget : ErrorCode::kCorruptData,
                  fmt::format("the zstd stream cannot be decoded: {}", ZSTD_getErrorName(left)));
      if (is_large) error.with_hint("Compress it again without --ultra --long, or allow more memory.");
      return std::move(error.with_stage("zstd"));
    }
    is_between_ = left == 0;
    return Step{from.pos, to.pos};
  }
  [[nodiscard]] bool may_end() const override { return is_between_; }

 private:
  ZSTD_DCtx* context_;
  bool is_between_ = true;  ///< A frame has ended, and none has begun.
};

}  // namespace

Result<std::unique_ptr<StreamDecoder>> make_zstd_stream(std::size_t most_window_bytes) {
  ZSTD_DCtx* const context = ZSTD_createDCtx();
  if (context == nullptr) return Error(ErrorCode::kOutOfBudget, "zstd gets no memory for a stream");
  ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, static_cast<int>(std::bit_width(most_window_bytes)) - 1);
  return std::unique_ptr<StreamDecoder>(std::make_unique<ZstdStream>(context));
}

}  // namespace headrace
