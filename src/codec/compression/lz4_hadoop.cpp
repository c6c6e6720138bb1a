// lz4_hadoop: Parquet's deprecated LZ4, which three kinds of writers understood differently.
//   Hadoop and newer parquet-cpp: frames of u32 decoded size, then blocks of u32 stored size + LZ4 block until that
//   size is reached, all big-endian. Most writers put one block into a frame; Hadoop puts in as many as its buffer asks
//   for. Older parquet-cpp: one LZ4 block without framing, or LZ4's own frame format.
// Sources: Hadoop's BlockCompressorStream, Parquet's Compression.md, LZ4's lz4_Frame_format.md.
#include <fmt/format.h>
#include <lz4frame.h>

#include "codec/codec.h"
#include "codec/coded_bytes.h"
#include "codec/compression/lz4_block.h"

namespace headrace {
namespace {

constexpr std::uint32_t kLz4FrameMagic = 0x184D2204;  // little-endian

// Returns the error that says where the input is no framing of Hadoop's, if it is none. No size is believed: a frame
// has to fit into what is left of the output, a block into what is left of the input.
Result<std::size_t> decode_hadoop_frames(std::span<const std::byte> in, std::span<std::byte> out) {
  std::size_t at = 0, done = 0;
  while (at < in.size()) {
    if (in.size() - at < 4) return corrupt(fmt::format("{} bytes are left for the size of a frame", in.size() - at));
    const std::size_t frame = load_be32(in.data() + at), end = done + frame;
    at += 4;
    if (frame > out.size() - done)
      return corrupt(fmt::format("a frame of {} bytes where {} are expected", frame, out.size() - done));
    if (frame == 0 && at == in.size()) break;  // Hadoop writes nothing more for an empty stream, others an empty block
    do {
      if (in.size() - at < 4) return corrupt(fmt::format("stream ends after {} of {} bytes", done, out.size()));
      const std::size_t stored = load_be32(in.data() + at);
      at += 4;
      if (stored > in.size() - at)
        return corrupt(fmt::format("a block of {} stored bytes where {} are left", stored, in.size() - at));
      auto made = decode_lz4_block(in.subspan(at, stored), out.subspan(done, end - done));
      if (!made.ok()) return std::move(made.error());
      at += stored;
      done += *made;
    } while (done < end);
  }
  return done;
}

struct FreeLz4Frame {
  void operator()(LZ4F_dctx* d) const { LZ4F_freeDecompressionContext(d); }
};

// Decodes one or several of LZ4's own frames. They are rare enough for a decompressor each; it allocates by the header,
// which can ask for blocks of at most 4 MiB.
Result<std::size_t> decode_lz4_frames(std::span<const std::byte> in, std::span<std::byte> out) {
  LZ4F_dctx* made_context = nullptr;
  if (LZ4F_isError(LZ4F_createDecompressionContext(&made_context, LZ4F_VERSION)))
    return Error(ErrorCode::kOutOfBudget, "no memory for a decompressor");
  const std::unique_ptr<LZ4F_dctx, FreeLz4Frame> context(made_context);
  std::byte none;  // an empty output may be a null pointer
  std::size_t read = 0, written = 0, wanted = 1;
  while (read < in.size()) {
    std::size_t taken = in.size() - read, made = out.size() - written;
    wanted = LZ4F_decompress(context.get(), out.empty() ? &none : out.data() + written, &made, in.data() + read, &taken,
                             nullptr);
    if (LZ4F_isError(wanted))
      return corrupt(fmt::format("damaged LZ4 frame ({}), {} bytes expected", LZ4F_getErrorName(wanted), out.size()));
    read += taken;
    written += made;
    if (taken + made == 0) break;
  }
  if (wanted == 0 && read == in.size()) return written;  // the last frame has ended
  if (written == out.size() && read < in.size())
    return corrupt(fmt::format("the LZ4 frame holds more than the expected {} bytes", out.size()));
  return corrupt(fmt::format("the LZ4 frame ends after {} of {} bytes", written, out.size()));
}

class Lz4Hadoop final : public Codec {
 public:
  [[nodiscard]] std::string_view name() const override { return "lz4_hadoop"; }

  // Nothing but the sizes tells the kinds apart, so what is Hadoop's to the last byte is taken for it. A bare block
  // begins with a literal, so that its first byte is 16 or more: read as a frame's size, 256 MiB or more.
  Result<std::size_t> decode(std::span<const std::byte> in, std::span<std::byte> out) const override {
    auto framed = decode_hadoop_frames(in, out);
    if (framed.ok()) return framed;
    if (in.size() >= 4 && load_le32(in.data()) == kLz4FrameMagic) return decode_lz4_frames(in, out);
    auto bare = decode_lz4_block(in, out);
    if (bare.ok()) return bare;
    return corrupt(fmt::format("neither Hadoop's framing ({}) nor a bare block ({})", framed.error().message(),
                               bare.error().message()));
  }
};

}  // namespace

Result<std::unique_ptr<Codec>> make_lz4_hadoop(const FilterSpec& /*spec*/, const ChunkForm& /*form*/) {
  return std::unique_ptr<Codec>(std::make_unique<Lz4Hadoop>());
}

}  // namespace headrace
