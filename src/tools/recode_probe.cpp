#include "tools/recode_probe.h"

#include <blosc.h>

#include <algorithm>

#include "base/clock.h"
#include "storage/read_batch.h"

namespace headrace {
namespace {

constexpr std::uint64_t kMostBytes = 32 << 20;  // of the chunk: zstd-1 encodes some 300 MB/s

/// Best of as many calls as fit into `seconds`, two at least. \return Bytes a second; 0 where a call failed.
template <class Decode>
double decode_rate(std::uint64_t bytes, double seconds, Decode&& decode) {
  double best = 0;
  const std::uint64_t until = now_ns() + static_cast<std::uint64_t>(seconds * 1e9);
  for (int i = 0; i < 2 || (i < 1000 && now_ns() < until); ++i) {
    const std::uint64_t start = now_ns();
    if (!decode()) return 0;
    best = std::max(
        best, static_cast<double>(bytes) * 1e9 / static_cast<double>(std::max<std::uint64_t>(now_ns() - start, 1)));
  }
  return best;
}

/// The array that costs most, where it has chunks.
const SampledBlock::ArrayPieces* leading(const Source& source, const SampledBlock& block) {
  const SampledBlock::ArrayPieces* best = nullptr;
  std::uint64_t most = 0;
  for (const auto& a : block.arrays) {
    const ArrayInfo& info = source.files[block.place.file].arrays[a.array]->info();
    if (a.pieces.empty() || info.row_record_bytes() <= most || info.read_path != ReadPath::kNative) continue;
    most = info.row_record_bytes();
    best = &a;
  }
  return best;
}

}  // namespace

Result<RecodeProbe> probe_recoding(const Source& source, const SampledBlock& block, double seconds) {
  RecodeProbe out;
  const SampledBlock::ArrayPieces* const chosen = leading(source, block);
  if (!chosen) return out;
  const ArrayReader& reader = *source.files[block.place.file].arrays[chosen->array];
  const Piece& piece = chosen->pieces.front();
  if (piece.stored.range.size == 0) return out;  // fill values: nothing was written
  const ScratchNeed need = reader.scratch_need(piece.rows.count);
  std::vector<std::byte> raw(need.out_bytes), ping(need.filter_bytes), pong(need.filter_bytes),
      stored(piece.stored.range.size);
  HEADRACE_TRY(piece.stored.file->read_at(piece.stored.range.offset, stored));
  HEADRACE_ASSIGN(const DecodedPiece decoded, reader.decode(piece, stored, {raw, ping, pong}));
  const std::size_t bytes = std::min(reader.decoded_rows(piece) * decoded.row_stride_bytes, kMostBytes);
  if (bytes == 0) return out;
  const std::vector<std::byte> rows(decoded.data, decoded.data + bytes);
  out.field = reader.info().path;
  out.chunk_bytes = piece.decoded_bytes;
  out.codecs.push_back({"as stored",
                        static_cast<double>(piece.decoded_bytes) / static_cast<double>(piece.stored.range.size),
                        decode_rate(piece.decoded_bytes, seconds / 3, [&] {
                          return reader.decode(piece, stored, {raw, ping, pong}).ok();
                        })});
  const ArrayInfo& info = reader.info();
  const std::size_t element = info.columns.size() == 1 ? info.columns[0].dtype.itemsize : info.record_bytes;
  std::vector<std::byte> encoded(bytes + BLOSC_MAX_OVERHEAD), again(bytes);
  for (const auto& [name, compressor] : {std::pair{"LZ4 + byte shuffle", "lz4"}, {"zstd-1 + byte shuffle", "zstd"}}) {
    const int size = blosc_compress_ctx(1, BLOSC_SHUFFLE, std::clamp<std::size_t>(element, 1, BLOSC_MAX_TYPESIZE),
                                        bytes, rows.data(), encoded.data(), encoded.size(), compressor, 0, 1);
    if (size <= 0) continue;  // a c-blosc without this compressor
    out.codecs.push_back({name, static_cast<double>(bytes) / size, decode_rate(bytes, seconds / 3, [&] {
                            return blosc_decompress_ctx(encoded.data(), again.data(), bytes, 1) ==
                                   static_cast<int>(bytes);
                          })});
  }
  return out;
}

}  // namespace headrace
