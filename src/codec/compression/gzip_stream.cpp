#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "codec/stream_decoder.h"

namespace headrace {
namespace {

constexpr int kGzipOnly = 16;  // zlib's own sign for "expect a gzip header"

class GzipStream final : public StreamDecoder {
 public:
  GzipStream() = default;
  ~GzipStream() override {
    if (is_made_) ::inflateEnd(&stream_);
  }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  Status begin() {
    if (::inflateInit2(&stream_, MAX_WBITS + kGzipOnly) != Z_OK)
      return Error(ErrorCode::kOutOfBudget, "zlib gets no memory for a stream");
    is_made_ = true;
    return {};
  }

  Result<Step> decode(std::span<const std::byte> in, std::span<std::byte> out) override {
    Step step;
    if (in.empty()) return step;
    if (is_between_) {
      if (padded_ || in[0] == std::byte{0}) return skip_padding(in);
      if (::inflateReset(&stream_) != Z_OK) return Error(ErrorCode::kInternal, "zlib does not begin again");
    }
    constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
    const std::size_t given = std::min(in.size(), kMost), room = std::min(out.size(), kMost);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));  // zlib writes nothing there
    stream_.avail_in = static_cast<uInt>(given);
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(room);
    const int status = ::inflate(&stream_, Z_NO_FLUSH);
    step.consumed = given - stream_.avail_in;
    step.produced = room - stream_.avail_out;
    if (status == Z_MEM_ERROR) return Error(ErrorCode::kOutOfBudget, "zlib gets no memory for a stream");
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
      return Error(ErrorCode::kCorruptData,
                   fmt::format("the gzip stream is damaged: {}", stream_.msg ? stream_.msg : "a dictionary is asked"))
          .with_stage("gzip");
    is_between_ = status == Z_STREAM_END;
    has_begun_ = true;
    return step;
  }
  [[nodiscard]] bool may_end() const override { return is_between_ || !has_begun_; }

 private:
  /// tar and tapes fill up their last block with zeros, which gzip passes over.
  Result<Step> skip_padding(std::span<const std::byte> in) {
    padded_ = true;
    if (std::ranges::any_of(in, [](std::byte byte) { return byte != std::byte{0}; }))
      return Error(ErrorCode::kCorruptData, "bytes that are no gzip follow the stream").with_stage("gzip");
    return Step{in.size(), 0};
  }

  z_stream stream_ = {};
  bool is_made_ = false, has_begun_ = false;
  bool is_between_ = false;  ///< A member has ended, and none has begun.
  bool padded_ = false;
};

}  // namespace

Result<std::unique_ptr<StreamDecoder>> make_gzip_stream() {
  auto stream = std::make_unique<GzipStream>();
  HEADRACE_TRY(stream->begin());
  return std::unique_ptr<StreamDecoder>(std::move(stream));
}

}  // namespace headrace
