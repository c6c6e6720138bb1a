#include "cache/blocks/block_coder.h"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "base/memory/fill_elements.h"
#include "codec/elements/byte_planes.h"
#include "codec/elements/unshuffle.h"

namespace headrace {
namespace {

constexpr double kWorthwhile =
    0.95;                      // an encoding must shorten a run, or a piece, by this much to be worth its trouble
constexpr double kEpochs = 5;  // that a run has, where it is not known
// Without a shuffle LZ4 searches less: on padded jets acceleration 8 encodes twice as fast as 1 for a tenth more bytes.
constexpr int kPlainAcceleration = 8, kShuffledAcceleration = 1;

/// Byte planes of elements: the inverse of unshuffle(). \return `planes`, or `from` where elements are single bytes.
const std::byte* shuffle(const std::byte* from, std::uint64_t bytes, std::uint32_t element_bytes, std::byte* planes) {
  if (element_bytes == 1) return from;
  split_planes(reinterpret_cast<const std::uint8_t*>(from), bytes / element_bytes, element_bytes,
               reinterpret_cast<std::uint8_t*>(planes));
  return planes;
}

struct ZstdContexts {
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> encoder{ZSTD_createCCtx(), ZSTD_freeCCtx};
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> decoder{ZSTD_createDCtx(), ZSTD_freeDCtx};
};
ZstdContexts& zstd() {
  thread_local ZstdContexts contexts;
  return contexts;
}

/// Kept from piece to piece: to make its table anew takes as long as to encode a piece.
LZ4_stream_t* lz4() {
  thread_local const std::unique_ptr<LZ4_stream_t, decltype(&LZ4_freeStream)> stream{LZ4_createStream(),
                                                                                     LZ4_freeStream};
  return stream.get();
}

/// \return Bytes written; 0 for an error. Pieces are far below 2 GiB.
std::uint64_t encode_lz4(const std::byte* from, std::uint64_t bytes, std::span<std::byte> out, int acceleration) {
  LZ4_resetStream_fast(lz4());
  const int written = LZ4_compress_fast_continue(
      lz4(), reinterpret_cast<const char*>(from), reinterpret_cast<char*>(out.data()), static_cast<int>(bytes),
      static_cast<int>(std::min<std::uint64_t>(out.size(), 1U << 30)), acceleration);
  return static_cast<std::uint64_t>(std::max(written, 0));
}
std::uint64_t encode_zstd(const std::byte* from, std::uint64_t bytes, std::span<std::byte> out) {
  const std::size_t written = ZSTD_compressCCtx(zstd().encoder.get(), out.data(), out.size(), from, bytes, 1);
  return ZSTD_isError(written) ? 0 : written;
}
std::uint64_t decode_lz4(std::span<const std::byte> in, std::byte* out, std::uint64_t bytes) {
  return static_cast<std::uint64_t>(
      std::max(LZ4_decompress_safe(reinterpret_cast<const char*>(in.data()), reinterpret_cast<char*>(out),
                                   static_cast<int>(in.size()), static_cast<int>(bytes)),
               0));
}
std::uint64_t decode_zstd(std::span<const std::byte> in, std::byte* out, std::uint64_t bytes) {
  const std::size_t got = ZSTD_decompressDCtx(zstd().decoder.get(), out, bytes, in.data(), in.size());
  return ZSTD_isError(got) ? 0 : got;
}

}  // namespace

std::string_view to_string(BlockCoding coding) {
  switch (coding) {
    case BlockCoding::kRaw:
      return "decoded";
    case BlockCoding::kLz4:
      return "LZ4";
    case BlockCoding::kShuffleLz4:
      return "shuffle + LZ4";
    case BlockCoding::kShuffleZstd:
      return "shuffle + zstd-1";
  }
  return "decoded";
}

std::uint64_t piece_scratch_bytes(const BlockForm& form) {
  std::uint64_t most = 0;
  for (std::size_t f = 0; f < form.num_fields(); ++f) most = std::max(most, Pieces::of(form, f).bytes);
  return 2 * most;
}

std::uint64_t most_coded_bytes(const BlockForm& form, std::uint64_t rows) {
  std::uint64_t bytes = piece_scratch_bytes(form);  // a shuffled piece, at the end
  for (std::size_t f = 0; f < form.num_fields(); ++f) {
    const Pieces pieces = Pieces::of(form, f);
    bytes += pieces.count(rows) * (pieces.bytes + pieces.bytes / 128 + 1024);  // more than either library's bound
  }
  return bytes;
}

bool can_encode(const BlockForm& form, std::uint64_t rows) {
  return most_coded_bytes(form, rows) < std::uint64_t{1} << 31;
}

namespace {

/// Return the bytes written; 0 for an error. \param planes  Scratch of the piece's size.
std::uint64_t encode_piece(std::span<const std::byte> piece, std::uint32_t element_bytes, BlockCoding coding,
                           std::byte* planes, std::span<std::byte> out) {
  if (coding == BlockCoding::kLz4) return encode_lz4(piece.data(), piece.size(), out, kPlainAcceleration);
  const std::byte* const shuffled = shuffle(piece.data(), piece.size(), element_bytes, planes);
  return coding == BlockCoding::kShuffleZstd ? encode_zstd(shuffled, piece.size(), out)
                                             : encode_lz4(shuffled, piece.size(), out, kShuffledAcceleration);
}

}  // namespace

Result<CodedBlock> encode_block(const BlockForm& form, std::uint64_t rows, BlockCoding coding, const std::byte* block,
                                std::span<std::byte> out) {
  CodedBlock coded;
  coded.coding = coding;
  std::uint64_t end = 0;
  const std::uint64_t most = out.size() - piece_scratch_bytes(form) / 2;
  std::byte* const planes = out.data() + most;
  for (std::size_t f = 0; f < form.num_fields(); ++f) {
    const Pieces pieces = Pieces::of(form, f);
    const std::uint32_t element = form.element_bytes(f);
    for (std::uint64_t p = 0; p < pieces.count(rows); ++p) {
      const std::byte* const from = block + form.offset(f, rows) + pieces.offset(p);
      const std::uint64_t bytes = pieces.size(p, rows);
      CodedBlock::Kind kind = CodedBlock::Kind::kCoded;
      std::uint64_t written = 0;
      if (bytes > element && std::memcmp(from, from + element, bytes - element) == 0) {
        kind = CodedBlock::Kind::kConstant;
        std::memcpy(out.data() + end, from, written = element);
      } else if (bytes > 0) {
        written = encode_piece({from, bytes}, element, coding, planes, out.subspan(end, most - end));
        if (written == 0) return Error(ErrorCode::kInternal, "a piece of a block was not encoded");
        if (static_cast<double>(written) > kWorthwhile * static_cast<double>(bytes)) {
          kind = CodedBlock::Kind::kRaw;
          std::memcpy(out.data() + end, from, written = bytes);
        }
      }
      end += written;
      coded.pieces.push_back({static_cast<std::uint32_t>(end), kind});
    }
  }
  return coded;
}

Result<std::span<const std::byte>> decode_piece(const BlockForm& form, std::uint64_t rows, const CodedBlock& coded,
                                                std::span<const std::byte> bytes, std::size_t field,
                                                std::uint64_t piece, std::span<std::byte> scratch) {
  std::uint64_t index = piece;
  for (std::size_t f = 0; f < field; ++f) index += Pieces::of(form, f).count(rows);
  const CodedBlock::Piece& coded_piece = coded.pieces[index];
  const std::uint64_t begin = index == 0 ? 0 : coded.pieces[index - 1].end, end = coded_piece.end;
  const std::uint64_t size = Pieces::of(form, field).size(piece, rows);
  const std::uint32_t element = form.element_bytes(field);
  std::byte* const planes = scratch.data();
  std::byte* const out = planes + scratch.size() / 2;
  if (size == 0) return std::span<const std::byte>(out, 0);
  bool sane = begin < end && end <= bytes.size();
  if (sane) {
    const std::span<const std::byte> in = bytes.subspan(begin, end - begin);
    switch (coded_piece.kind) {
      case CodedBlock::Kind::kRaw:
        if (in.size() == size) return in;
        sane = false;
        break;
      case CodedBlock::Kind::kConstant:
        sane = in.size() == element;
        if (sane) fill_elements(in, in.size(), {out, size});
        break;
      case CodedBlock::Kind::kCoded:
        sane = (coded.coding == BlockCoding::kShuffleZstd ? decode_zstd(in, planes, size)
                                                          : decode_lz4(in, planes, size)) == size;
        if (sane && (element == 1 || coded.coding == BlockCoding::kLz4))
          return std::span<const std::byte>(planes, size);
        if (sane)
          unshuffle(reinterpret_cast<const std::uint8_t*>(planes), size / element, element,
                    reinterpret_cast<std::uint8_t*>(out));
        break;
    }
  }
  if (!sane)
    return Error(ErrorCode::kInternal, "a block that was kept encoded in memory is damaged")
        .with_hint("Test this machine's memory.");
  return std::span<const std::byte>(out, size);
}

const CodingTrial* choose_coding(std::span<const CodingTrial> trials, const CodingCase& c) {
  // Nanoseconds a block, over the run. A block that is used once an epoch is found if it is among those that fit;
  // decoded ones cost nothing but the moving of rows, which all have in common.
  const auto run_ns = [&](double hits, double encode_ns, double hit_ns) {
    const double miss = (1 - hits) * c.decodes * c.miss_ns;
    return hits * (c.miss_ns + encode_ns + (kEpochs - 1) * hit_ns) + kEpochs * miss;
  };
  const CodingTrial* best = nullptr;
  double best_ns = run_ns(std::min(c.decoded_room, 1.0), 0, 0) * kWorthwhile;
  for (const CodingTrial& t : trials) {
    const double ns = run_ns(std::min(c.encoded_room / t.coded_share, 1.0), t.encode_ns, t.decode_ns);
    if (ns < best_ns) best_ns = ns, best = &t;
  }
  return best;
}

}  // namespace headrace
