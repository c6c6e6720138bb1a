// szip (HDF5 filter 4): CCSDS 121.0-B lossless coding, decoded by libaec. Source: H5Zszip.c and libaec's sz_compat.c.
// A stream is 4 bytes of decoded length (little-endian), then the coded samples. Samples come in scanlines of blocks;
// where a scanline is no whole number of blocks, its last block is padded. Pixels of 32 and 64 bits are coded byte
// plane by byte plane, in samples of 8 bits. Client values: 0 options (16: big-endian, 32: a predictor; the others tell
// the encoder only), 1 pixels a block, 2 bits a pixel, 3 pixels a scanline.
#include <fmt/format.h>
#include <libaec.h>

#include <algorithm>
#include <array>

#include "codec/codec.h"
#include "codec/coded_bytes.h"

namespace headrace {
namespace {

constexpr std::uint32_t kBigEndian = 16, kPredictor = 32;  // SZ_MSB_OPTION_MASK, SZ_NN_OPTION_MASK
constexpr std::uint32_t kMaxBlockPixels = 32, kMaxScanlineBlocks = 128;
constexpr std::size_t kLengthBytes = 4;

struct Layout {
  std::uint32_t options = 0, block_pixels = 0, sample_bits = 0, scanline_pixels = 0;
  std::size_t sample_bytes = 1, planes = 1;  // more than one plane: each pixel is one byte of every plane

  [[nodiscard]] std::uint32_t scanline_blocks() const { return (scanline_pixels + block_pixels - 1) / block_pixels; }
  [[nodiscard]] std::size_t line_bytes() const { return scanline_pixels * sample_bytes; }
  [[nodiscard]] std::size_t padded_line_bytes() const {
    return std::size_t{scanline_blocks()} * block_pixels * sample_bytes;
  }
};

/// Largest padded scanline, and what is decoded at once where the samples cannot go straight to their places.
constexpr std::size_t kBufferBytes = std::size_t{kMaxBlockPixels} * kMaxScanlineBlocks * 4;

// libaec's decoder: less than 20 KiB, as a scanline has at most 4096 samples. It checks its input and output as it
// goes; what it does not check are the numbers it is started with.
class SzipStream {
 public:
  SzipStream(const Layout& layout, std::span<const std::byte> in) {
    stream_.next_in = as_u8(in.data());
    stream_.avail_in = in.size();
    stream_.bits_per_sample = layout.sample_bits;
    stream_.block_size = layout.block_pixels;
    stream_.rsi = layout.scanline_blocks();
    stream_.flags = ((layout.options & kBigEndian) != 0 ? AEC_DATA_MSB : 0u) |
                    ((layout.options & kPredictor) != 0 ? AEC_DATA_PREPROCESS : 0u);
    started_ = aec_decode_init(&stream_) == AEC_OK;
  }
  ~SzipStream() {
    if (started_) aec_decode_end(&stream_);
  }
  SzipStream(const SzipStream&) = delete;
  SzipStream& operator=(const SzipStream&) = delete;
  [[nodiscard]] bool started() const { return started_; }

  /// Decode the next out.size() bytes, whole samples. \return How many there were; nullopt if they are damaged.
  std::optional<std::size_t> read(std::span<std::byte> out) {
    stream_.next_out = as_u8(out.data());
    stream_.avail_out = out.size();
    if (aec_decode(&stream_, AEC_FLUSH) != AEC_OK) return {};
    return out.size() - stream_.avail_out;
  }

 private:
  aec_stream stream_{};
  bool started_;
};

class Szip final : public Codec {
 public:
  explicit Szip(const Layout& layout) : layout_(layout) {}
  [[nodiscard]] std::string_view name() const override { return "szip"; }
  [[nodiscard]] std::string setting() const override {
    return fmt::format("{}-{}", (layout_.options & kPredictor) != 0 ? "nn" : "ec", layout_.block_pixels);
  }

  // The stream ends with the last sample that is needed: what encoders write behind it (the padding of the last
  // scanline, a last byte) differs, and libhdf5 ignores it. There is no checksum.
  Result<std::size_t> decode(std::span<const std::byte> in, std::span<std::byte> out) const override {
    if (in.size() < kLengthBytes) return corrupt(fmt::format("{} bytes cannot hold the length", in.size()));
    const std::size_t size = load_le32(in.data());
    if (size > out.size())
      return corrupt(fmt::format("the header says {} bytes where {} are expected", size, out.size()));
    if (size % (layout_.sample_bytes * layout_.planes) != 0)
      return corrupt(fmt::format("the header says {} bytes, which is no whole number of pixels", size));
    SzipStream decompressor(layout_, in.subspan(kLengthBytes));
    if (!decompressor.started()) return Error(ErrorCode::kOutOfBudget, "no memory for a decompressor");
    const bool straight = layout_.planes == 1 && layout_.line_bytes() == layout_.padded_line_bytes();
    std::size_t done = 0;
    const bool sound =
        straight ? read_straight(decompressor, out.first(size), done) : read_lines(decompressor, out.first(size), done);
    if (!sound) return corrupt(fmt::format("damaged stream after about {} of {} bytes", done, size));
    if (done < size) return corrupt(fmt::format("stream ends after {} of {} bytes", done, size));
    return size;
  }

 private:
  static bool read_straight(SzipStream& decompressor, std::span<std::byte> out, std::size_t& done) {
    const auto made = decompressor.read(out);
    done = made.value_or(0);
    return made.has_value();
  }

  // Some whole scanlines at a time, then the samples without padding to their places.
  bool read_lines(SzipStream& decompressor, std::span<std::byte> out, std::size_t& done) const {
    std::array<std::byte, kBufferBytes> buffer;
    const std::size_t line = layout_.line_bytes(), padded = layout_.padded_line_bytes();
    const std::size_t lines_at_once = buffer.size() / padded;
    while (done < out.size()) {
      const std::size_t rest = out.size() - done, lines = std::min(lines_at_once, (rest + line - 1) / line);
      // The padding of the very last scanline is not asked for.
      const std::size_t wanted =
          rest > lines * line ? lines * padded : (lines - 1) * padded + rest - (lines - 1) * line;
      const auto made = decompressor.read(std::span(buffer).first(wanted));
      if (!made) return false;
      for (std::size_t at = 0; at < *made; at += padded) {
        const std::size_t length = std::min(line, *made - at);
        place(std::span(buffer).subspan(at, length), out, done);
        done += length;
      }
      if (*made < wanted) return true;
    }
    return true;
  }

  // Samples `done` and after, to where their pixels are in `out`.
  void place(std::span<const std::byte> samples, std::span<std::byte> out, std::size_t done) const {
    if (layout_.planes == 1) return copy_bytes(out.data() + done, samples.data(), samples.size());
    const std::size_t pixels = out.size() / layout_.planes;
    std::size_t plane = done / pixels, pixel = done % pixels;
    for (std::size_t i = 0; i < samples.size(); ++plane, pixel = 0)
      for (; pixel < pixels && i < samples.size(); ++pixel, ++i) out[pixel * layout_.planes + plane] = samples[i];
  }

  Layout layout_;
};

Result<Layout> read_layout(const std::vector<std::uint32_t>& p, const ChunkForm& form) {
  if (p.size() != 4) return corrupt(fmt::format("{} parameters, 4 expected", p.size()));
  Layout out{.options = p[0], .block_pixels = p[1], .sample_bits = p[2], .scanline_pixels = p[3]};
  if (p[1] < 2 || p[1] > kMaxBlockPixels || p[1] % 2 != 0)
    return corrupt(fmt::format("blocks of {} pixels; there are even numbers from 2 to {}", p[1], kMaxBlockPixels));
  if (p[3] < p[1] || p[3] > p[1] * kMaxScanlineBlocks)
    return corrupt(fmt::format("scanlines of {} pixels; with blocks of {} there are {} to {}", p[3], p[1], p[1],
                               p[1] * kMaxScanlineBlocks));
  if (p[2] == 0 || (p[2] > 24 && p[2] != 32 && p[2] != 64))
    return corrupt(fmt::format("pixels of {} bits; there are 1 to 24, 32 and 64", p[2]));
  if (p[2] > 24) {
    out.planes = p[2] / 8;
    out.sample_bits = 8;
  }
  out.sample_bytes = out.sample_bits > 16 ? 4 : out.sample_bits > 8 ? 2 : 1;
  if (form.element_bytes % (out.sample_bytes * out.planes) != 0)
    return corrupt(fmt::format("pixels of {} bits take {} bytes, the array's elements have {}", p[2],
                               out.sample_bytes * out.planes, form.element_bytes));
  return out;
}

}  // namespace

Result<std::unique_ptr<Codec>> make_szip(const FilterSpec& spec, const ChunkForm& form) {
  HEADRACE_ASSIGN(const Layout layout, read_layout(spec.parameters, form));
  return std::unique_ptr<Codec>(std::make_unique<Szip>(layout));
}

}  // namespace headrace
