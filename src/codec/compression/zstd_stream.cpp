#include <fmt/format.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <array>
#include <bit>

#include "codec/coded_bytes.h"
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

std::uint64_t zstd_window_bytes(std::span<const std::byte> head) {
  constexpr std::size_t kMagicBytes = 4;
  constexpr unsigned kSmallestWindowLog = 10;
  if (head.size() < kMagicBytes + 2 || load_le32(head.data()) != ZSTD_MAGICNUMBER) return 0;
  const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(head[kMagicBytes + i]); };
  const unsigned descriptor = at(0);
  if ((descriptor & 0x20) == 0)  // a window of its own: 1, 1 1/8, ... 1 7/8 of a power of two
    return (std::uint64_t{1} << (kSmallestWindowLog + (at(1) >> 3))) / 8 * (8 + (at(1) & 7));
  // A single segment, whose window is its content; behind the number of a dictionary.
  constexpr std::array<std::size_t, 4> kDictionaryBytes{0, 1, 2, 4}, kContentBytes{1, 2, 4, 8};
  const std::size_t begin = 1 + kDictionaryBytes[descriptor & 3], size = kContentBytes[descriptor >> 6];
  if (head.size() < kMagicBytes + begin + size) return 0;
  std::uint64_t content = size == 2 ? 256 : 0;
  for (std::size_t i = 0; i < size; ++i) content += std::uint64_t{at(begin + i)} << 8 * i;
  return content;
}

Result<std::unique_ptr<StreamDecoder>> make_zstd_stream(std::size_t most_window_bytes) {
  ZSTD_DCtx* const context = ZSTD_createDCtx();
  if (context == nullptr) return Error(ErrorCode::kOutOfBudget, "zstd gets no memory for a stream");
  ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, static_cast<int>(std::bit_width(most_window_bytes)) - 1);
  return std::unique_ptr<StreamDecoder>(std::make_unique<ZstdStream>(context));
}

}  // namespace headrace
