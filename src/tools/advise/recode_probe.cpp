#include "tools/advise/recode_probe.h"

#include <algorithm>

#include "base/clock.h"
#include "codec/chunk_encoder.h"
#include "codec/codec_chain.h"
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
  if (reader.info().page_rows > 0) return out;   // no HDF5 file, which is what is written anew
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
  std::vector<std::byte> again(bytes);
  for (const auto& [name, compression] : {std::pair{"lz4", Compression::kLz4}, {"zstd", Compression::kZstd}}) {
    const ChunkCoding coding{compression, 1, true};
    HEADRACE_ASSIGN(const EncodedChunk encoded, encode_chunk(rows, element, coding));
    HEADRACE_ASSIGN(const CodecChain chain, CodecChain::make(filters_of(coding, element, bytes), {bytes, element}));
    std::vector<std::byte> first(chain.scratch_bytes()), second(chain.scratch_bytes());
    out.codecs.push_back({to_string(coding), static_cast<double>(bytes) / static_cast<double>(encoded.bytes.size()),
                          decode_rate(bytes, seconds / 3,
                                      [&] {
                                        return chain.decode(encoded.bytes, 0, again, {first, second}).ok();
                                      }),
                          name});
  }
  return out;
}

}  // namespace headrace
