#include "tools/rewrite/rewrite_probe.h"

#include <fmt/format.h>
#include <headrace/bytes.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "assembly/copying/row_copy.h"
#include "base/clock.h"
#include "codec/codec_chain.h"
#include "tools/rewrite/row_scan.h"

namespace headrace {
namespace {

constexpr std::uint64_t kSampleBytes = mebibytes(12);  // of one place in a file
constexpr std::size_t kPlaces = 3;
constexpr std::uint64_t kCodecNs = 250'000'000;
constexpr double kNoise = 1.15;                // between two measurements of the same thing
constexpr double kDiskBytesPerSecond = 500e6;  // what the disk gives depends on what else uses it: a plain SSD

double per_second(std::uint64_t bytes, std::uint64_t ns) {
  return static_cast<double>(bytes) * 1e9 / static_cast<double>(std::max<std::uint64_t>(ns, 1));
}

/// Rows of an array, as decoded.
Result<std::vector<std::byte>> read_rows(const RewriteArray& array, RowRange rows) {
  std::vector<std::byte> out(rows.count * array.row_bytes);
  const RowSource source{array.reader.get(), rows, 0};
  const auto visit = [&](const ScannedPiece& piece) -> Status {
    const RowGeometry geometry = piece.source.reader->geometry(piece.piece.across, 0);
    for (std::uint64_t row = piece.rows.first; row < piece.rows.end(); ++row) {
      std::byte* const to = out.data() + (row - rows.first) * array.row_bytes;
      if (array.by_element)
        copy_row(geometry, to, piece.row(row));
      else
        std::memcpy(to, piece.row(row), array.row_bytes);
    }
    finish_streaming();
    return {};
  };
  HEADRACE_TRY(scan_rows(std::span(&source, 1), 1, visit, {}));
  return out;
}

/// Decode the stored pieces that hold `rows` as they are, for some time. What is read, and memory that is new, are not
/// measured: the codecs are measured so too. Adds to `decoded_bytes` and `ns`.
Status measure_source(const RewriteArray& array, RowRange rows, std::uint64_t& decoded_bytes, std::uint64_t& ns) {
  const ArrayReader& reader = *array.reader;
  std::vector<Piece> pieces;
  HEADRACE_TRY(reader.locate(rows, pieces));
  const ScratchNeed need = reader.scratch_need(rows.count);
  std::vector<std::byte> out(need.out_bytes), ping(need.filter_bytes), pong(need.filter_bytes), stored;
  const std::uint64_t limit_ns = ns + kCodecNs / kPlaces;
  for (const Piece& piece : pieces) {
    if (ns >= limit_ns) break;
    if (piece.stored.range.size == 0) continue;  // nothing is decoded
    stored.resize(piece.stored.range.size);
    HEADRACE_TRY(piece.stored.file->read_at(piece.stored.range.offset, stored));
    std::uint64_t best_ns = ~std::uint64_t{0};
    for (int turn = 0; turn < 2; ++turn) {  // the second finds the memory in place
      const std::uint64_t from = now_ns();
      HEADRACE_TRY(reader.decode(piece, stored, {out, ping, pong}));
      best_ns = std::min(best_ns, now_ns() - from);
    }
    ns += best_ns;
    decoded_bytes += piece.decoded_bytes;
  }
  return {};
}

/// True if an array has this codec and these chunks already.
bool is_stored_so(const RewriteArray& array) {
  const ArrayInfo& info = array.made.info;
  if (info.layout != Layout::kChunked && info.layout != Layout::kContiguous) return false;
  if (array.made.chunk_shape != info.chunk_shape) return false;
  const std::uint64_t chunk_bytes = array.chunk_rows() * array.row_bytes;
  const auto chain = CodecChain::make(filters_of(array.made.coding, array.made.element_bytes, chunk_bytes),
                                      {chunk_bytes, array.made.element_bytes});
  return chain.ok() &&
         std::ranges::equal(chain->codecs(), info.filters, [](const auto& codec, const FilterInfo& stored) {
           return codec->name() == stored.name && codec->setting() == stored.setting;
         });
}

/// Rows in the middle of the array's part `place` of `places`: some whole chunks.
RowRange sample_range(const RewriteArray& array, std::size_t place, std::size_t places) {
  const std::uint64_t stored = array.made.info.chunk_rows(), chunk = array.chunk_rows();
  const std::uint64_t most = std::max<std::uint64_t>(kSampleBytes / array.row_bytes, 1);
  std::uint64_t count = std::min({std::max({stored, chunk, std::uint64_t{1}}), most, array.rows()});
  if (count < most) count = std::min(most / count * count, array.rows());
  const std::uint64_t middle = (2 * place + 1) * array.rows() / (2 * places);
  return {std::min(middle / stored * stored, array.rows() - count), count};
}

/// Encode and decode samples in chunks of so many bytes. \return Ratio 0 where there is nothing to measure.
Result<MeasuredCodec> measure(const RewriteArray& array, const std::string& name, const ChunkCoding& coding,
                              const std::vector<std::vector<std::byte>>& samples) {
  MeasuredCodec out{name, coding, 0, 0, 0};
  std::uint64_t decoded = 0, stored = 0, encode_ns = 0, decode_ns = 0;
  const std::uint64_t chunk_bytes = array.chunk_rows() * array.row_bytes;
  for (std::uint64_t at = 0; encode_ns + decode_ns < kCodecNs; at += chunk_bytes) {
    bool more = false;
    for (const std::vector<std::byte>& sample : samples) {  // a chunk of each in turn
      if (at >= sample.size()) continue;
      more = true;
      const std::span<const std::byte> in =
          std::span(sample).subspan(at, std::min<std::size_t>(chunk_bytes, sample.size() - at));
      const std::uint64_t start = now_ns();
      HEADRACE_ASSIGN(const EncodedChunk chunk, encode_chunk(in, array.made.element_bytes, coding));
      encode_ns += now_ns() - start;
      HEADRACE_ASSIGN(const CodecChain chain, CodecChain::make(filters_of(coding, array.made.element_bytes, in.size()),
                                                               {in.size(), array.made.element_bytes}));
      std::vector<std::byte> again(in.size()), ping(chain.scratch_bytes()), pong(chain.scratch_bytes());
      std::uint64_t best_ns = ~std::uint64_t{0};
      for (int turn = 0; turn < 2; ++turn) {  // the second finds the memory in place
        const std::uint64_t from = now_ns();
        HEADRACE_TRY(chain.decode(chunk.bytes, chunk.filter_mask, again, {ping, pong}));
        best_ns = std::min(best_ns, now_ns() - from);
      }
      decode_ns += best_ns;
      decoded += in.size(), stored += chunk.bytes.size();
    }
    if (!more) break;
  }
  out.ratio = stored == 0 ? 0 : static_cast<double>(decoded) / static_cast<double>(stored);
  out.encode_bytes_per_s = per_second(decoded, encode_ns);
  out.decode_bytes_per_s = per_second(decoded, decode_ns);
  return out;
}

/// How good a codec is: rate from memory times rate from a disk, so that neither is forgotten.
double worth(const MeasuredCodec& codec, std::uint32_t threads) {
  const double warm = codec.decode_bytes_per_s * threads;
  return warm * std::min(warm, codec.ratio * kDiskBytesPerSecond);
}

}  // namespace

double RewriteForecast::faster() const {
  if (codecs.empty() || stored_so || source_decode_bytes_per_s <= 0) return 1;
  const double ratio = best().decode_bytes_per_s / source_decode_bytes_per_s;
  return ratio > kNoise || ratio < 1 / kNoise ? ratio : 1;
}

bool RewriteForecast::pays() const {
  return !codecs.empty() && !stored_so && (faster() > 1 || best().ratio > kNoise * source_ratio);
}

Result<RewriteForecast> probe_rewrite(RewritePlan& plan, std::uint32_t threads) {
  RewriteForecast out;
  const bool automatic = plan.options.codec == "auto";
  std::vector<std::string> names{plan.options.codec};
  if (automatic) names = {"lz4", "zstd"};
  HEADRACE_ASSIGN(const ChunkCoding first, coding_named(names.front()));
  settle_storage(plan, first);
  out.array = plan.leading();
  std::vector<const RewriteArray*> leading;
  for (const RewriteFile& file : plan.files)
    for (const RewriteArray& array : file.arrays)
      if (array.made.info.path == out.array) leading.push_back(&array);
  if (leading.empty()) return out;
  std::vector<std::vector<std::byte>> samples;
  std::uint64_t read_ns = 0, stored = 0, decoded = 0, source_bytes = 0, source_ns = 0;
  for (std::size_t place = 0; place < kPlaces; ++place) {
    const RewriteArray& array = *leading[place * leading.size() / kPlaces];
    const std::uint64_t start = now_ns();
    const RowRange range = sample_range(array, place, kPlaces);
    HEADRACE_ASSIGN(std::vector<std::byte> rows, read_rows(array, range));
    read_ns += now_ns() - start;
    HEADRACE_TRY(measure_source(array, range, source_bytes, source_ns));
    out.sample_bytes += rows.size();
    samples.push_back(std::move(rows));
  }
  for (const RewriteArray* array : leading) stored += array->made.info.stored_bytes, decoded += array->decoded_bytes();
  out.source_read_bytes_per_s = per_second(out.sample_bytes, read_ns);
  out.source_decode_bytes_per_s = source_ns == 0 ? 0 : per_second(source_bytes, source_ns);
  out.source_ratio = static_cast<double>(decoded) / static_cast<double>(std::max<std::uint64_t>(stored, 1));
  for (const std::string& name : names) {
    HEADRACE_ASSIGN(const ChunkCoding coding, coding_named(name));
    RewriteArray as = *leading.front();
    as.made.coding = coding;
    HEADRACE_ASSIGN(const MeasuredCodec measured, measure(as, name, as.made.coding, samples));
    out.codecs.push_back(measured);
    if (worth(measured, threads) > worth(out.codecs[out.chosen], threads)) out.chosen = out.codecs.size() - 1;
  }
  const bool incompressible =
      std::all_of(out.codecs.begin(), out.codecs.end(), [](const MeasuredCodec& c) { return c.ratio < 1.05; });
  if (automatic && incompressible) {
    HEADRACE_ASSIGN(const MeasuredCodec none, measure(*leading.front(), "none", {}, samples));
    out.chosen = out.codecs.size();
    out.codecs.push_back(none);
  }
  settle_storage(plan, out.best().coding);
  plan.options.codec = out.best().name;
  out.stored_so = std::ranges::all_of(leading, [](const RewriteArray* array) { return is_stored_so(*array); });
  // The other arrays may shrink more or less: one chunk of each name.
  std::map<std::string, double> ratios{{out.array, std::max(out.best().ratio, 0.5)}};
  double bytes = static_cast<double>(plan.kept_bytes);
  for (const RewriteFile& file : plan.files)
    for (const RewriteArray& array : file.arrays) {
      auto known = ratios.find(array.made.info.path);
      if (known == ratios.end()) {
        RowRange rows = sample_range(array, 0, 1);
        rows.count = std::min(rows.count, std::max<std::uint64_t>(mebibytes(4) / array.row_bytes, 1));
        HEADRACE_ASSIGN(std::vector<std::byte> sample, read_rows(array, rows));
        HEADRACE_ASSIGN(const MeasuredCodec measured,
                        measure(array, plan.options.codec, array.made.coding, {std::move(sample)}));
        known = ratios.emplace(array.made.info.path, std::max(measured.ratio, 0.5)).first;
      }
      bytes += static_cast<double>(array.decoded_bytes()) / known->second;
    }
  out.output_bytes = static_cast<std::uint64_t>(bytes);
  return out;
}

void forecast_cost(const RewritePlan& plan, const RewriteMemory& memory, RewriteForecast& forecast) {
  if (forecast.codecs.empty()) return;
  const auto passes = static_cast<double>(passes_of(plan, memory));
  const double threads = memory.threads, decoded = static_cast<double>(plan.decoded_bytes);
  const MeasuredCodec& codec = forecast.best();
  forecast.seconds = decoded * passes / (threads * std::max(forecast.source_read_bytes_per_s, 1.0)) +
                     decoded / (threads * std::max(codec.encode_bytes_per_s, 1.0)) +
                     decoded / (threads * std::max(codec.decode_bytes_per_s, 1.0)) +
                     static_cast<double>(forecast.output_bytes) / kDiskBytesPerSecond;
}

}  // namespace headrace
