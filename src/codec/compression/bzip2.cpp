// bzip2 (HDF5 filter 307): one bzip2 stream, decoded by libbz2; each block and the whole stream have a CRC-32. Client
// value 0 is the block size that the writer asked for, in 100,000 bytes: the stream's own header is what counts.
// Source: the bzip2 manual (libbz2's decompression), PyTables' H5Zbzip2.c.
#include <bzlib.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "codec/codec.h"
#include "codec/coded_bytes.h"

namespace headrace {
namespace {

// A decompressor cannot be started again, so each stream has its own. Besides its own 64 KB, libbz2 allocates 4 bytes
// for each byte of a block, of which the header can ask for 100,000 to 900,000, so at most 3.6 MB.
class Bzip2Stream {
 public:
  Bzip2Stream() : started_(BZ2_bzDecompressInit(&stream_, 0, 0) == BZ_OK) {}
  ~Bzip2Stream() {
    if (started_) BZ2_bzDecompressEnd(&stream_);
  }
  Bzip2Stream(const Bzip2Stream&) = delete;
  Bzip2Stream& operator=(const Bzip2Stream&) = delete;
  [[nodiscard]] bool started() const { return started_; }

  struct Step {
    int state;  // BZ_OK while the stream goes on
    std::size_t taken, made;
  };
  // As far as both buffers reach, or as far as libbz2's 32-bit counts do.
  Step step(std::span<const std::byte> in, std::span<std::byte> out) {
    constexpr std::size_t kMost = std::numeric_limits<unsigned>::max();
    const std::size_t in_step = std::min(in.size(), kMost), out_step = std::min(out.size(), kMost);
    stream_.next_in = const_cast<char*>(as_char(in.data()));
    stream_.avail_in = static_cast<unsigned>(in_step);
    stream_.next_out = as_char(out.data());
    stream_.avail_out = static_cast<unsigned>(out_step);
    const int state = BZ2_bzDecompress(&stream_);
    return {state, in_step - stream_.avail_in, out_step - stream_.avail_out};
  }

 private:
  bz_stream stream_{};
  bool started_;
};

class Bzip2 final : public Codec {
 public:
  explicit Bzip2(std::string block_size) : block_size_(std::move(block_size)) {}
  [[nodiscard]] std::string_view name() const override { return "bzip2"; }
  [[nodiscard]] std::string setting() const override { return block_size_; }

  // A stream ends where it says so and its checksums agree. Bytes behind that are ignored, as the HDF5 filter does.
  Result<std::size_t> decode(std::span<const std::byte> in, std::span<std::byte> out) const override {
    Bzip2Stream decompressor;
    if (!decompressor.started()) return Error(ErrorCode::kOutOfBudget, "no memory for a decompressor");
    std::size_t read = 0, written = 0;
    Bzip2Stream::Step step{BZ_OK, 1, 0};
    while (step.state == BZ_OK && step.taken + step.made != 0) {
      step = decompressor.step(in.subspan(read), out.subspan(written));
      read += step.taken;
      written += step.made;
    }
    if (step.state == BZ_STREAM_END) return written;
    if (step.state == BZ_OK && written < out.size())
      return corrupt(fmt::format("stream ends after {} of {} bytes", written, out.size()));
    if (step.state == BZ_OK) {  // the output is full: is there more, or is only the end missing?
      std::byte more;
      step = decompressor.step(in.subspan(read), {&more, 1});
      if (step.made != 0) return corrupt(fmt::format("stream holds more than the expected {} bytes", out.size()));
      if (step.state == BZ_OK) return corrupt(fmt::format("stream ends without its checksum after {} bytes", written));
    }
    if (step.state == BZ_MEM_ERROR) return Error(ErrorCode::kOutOfBudget, "no memory for a decompressor");
    return corrupt(fmt::format("damaged stream after {} of {} bytes ({})", written, out.size(),
                               step.state == BZ_DATA_ERROR_MAGIC ? "no bzip2 header" : "invalid data or checksum"));
  }

 private:
  std::string block_size_;
};

}  // namespace

Result<std::unique_ptr<Codec>> make_bzip2(const FilterSpec& spec, const ChunkForm& /*form*/) {
  return std::unique_ptr<Codec>(
      std::make_unique<Bzip2>(spec.parameters.empty() ? std::string() : std::to_string(spec.parameters.front())));
}

}  // namespace headrace
