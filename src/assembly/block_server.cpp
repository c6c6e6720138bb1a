#include "assembly/block_server.h"

#include <algorithm>

#include "assembly/row_copy.h"
#include "base/clock.h"

namespace headrace {
namespace {

constexpr std::uint64_t kReadTogetherBytes = 4 << 20;   // stored bytes of a block that are read before decoding begins
constexpr std::uint64_t kSparseGapBytes = 64 << 10;     // rows nearer than this are read together

}  // namespace

BlockServer::BlockServer(const Source& source, const BlockLayout& layout, const ResidentArrays& resident,
                         DecodeCounters& counters)
    : source_(source), layout_(layout), resident_(resident), counters_(counters), fields_of_array_(source.num_arrays()) {
  for (std::size_t f = 0; f < source.places.size(); ++f) fields_of_array_[source.places[f].array].push_back(f);
}

ServerNeed BlockServer::need(const Source& source, const BlockLayout& layout) {
  std::uint64_t out = 0, filter = 0, stored = 0;
  for (std::size_t f = 0; f < source.files.size(); ++f) {
    std::uint64_t block = 0, piece = 0;  // stored bytes are at most the decoded ones, but for data that does not compress
    for (const auto& array : source.files[f].arrays) {
      const ScratchNeed n = array->scratch_need(layout.files[f].block_rows);
      out = std::max(out, n.out_bytes);
      filter = std::max(filter, n.filter_bytes);
      const std::uint64_t rows = std::max(layout.files[f].block_rows, array->info().chunk_rows());
      block += rows * array->info().row_record_bytes();
      piece = std::max(piece, array->info().chunk_rows() * array->info().row_record_bytes());
    }
    stored = std::max(stored, std::min(block, kReadTogetherBytes + piece));
  }
  return {PageBuffer::charge_for(out) + 2 * PageBuffer::charge_for(filter), PageBuffer::charge_for(stored + stored / 4)};
}

Status BlockServer::prepare() {
  std::uint64_t out = 0, filter = 0;
  for (std::size_t f = 0; f < source_.files.size(); ++f)
    for (const auto& array : source_.files[f].arrays) {
      const ScratchNeed n = array->scratch_need(layout_.files[f].block_rows);
      out = std::max(out, n.out_bytes);
      filter = std::max(filter, n.filter_bytes);
    }
  HEADRACE_ASSIGN(out_, PageBuffer::allocate(out));
  HEADRACE_ASSIGN(ping_, PageBuffer::allocate(filter));
  HEADRACE_ASSIGN(pong_, PageBuffer::allocate(filter));
  return {};
}

void BlockServer::release() {
  for (PageBuffer* b : {&out_, &ping_, &pong_, &read_buffer_}) b->reset();
}

Status BlockServer::reserve_read_buffer(std::uint64_t bytes) {
  if (bytes <= read_buffer_.size_bytes()) return {};
  read_buffer_.reset();
  HEADRACE_ASSIGN(read_buffer_, PageBuffer::allocate(bytes + bytes / 4));
  return {};
}

/// Rows of an addressable array, when few of the block's rows are wanted: only those, as runs with small gaps.
void BlockServer::locate_wanted(const ArrayReader& reader, RowRange rows, std::span<const Request> requests) {
  wanted_rows_.clear();
  for (const Request& r : requests) wanted_rows_.push_back(r.row);
  std::sort(wanted_rows_.begin(), wanted_rows_.end());
  const std::uint64_t gap_rows = kSparseGapBytes / std::max<std::uint64_t>(reader.info().row_record_bytes(), 1) + 1;
  for (std::size_t i = 0; i < wanted_rows_.size();) {
    std::size_t end = i + 1;
    while (end < wanted_rows_.size() && wanted_rows_[end] - wanted_rows_[end - 1] <= gap_rows) ++end;
    const std::uint64_t first = wanted_rows_[i], last = wanted_rows_[end - 1];
    // Reading rows that lie in memory cannot fail here: addressable arrays have no index.
    (void)reader.locate({rows.first + first, last - first + 1}, pieces_);
    i = end;
  }
}

Status BlockServer::serve(std::uint32_t file_number, RowRange rows, std::span<const Request> requests,
                          std::span<const RowRun> runs, bool first, const std::atomic<bool>& cancelled) {
  const SourceFile& file = source_.files[file_number];
  const FileLayout& layout = layout_.files[file_number];
  tasks_.clear();
  std::uint64_t needed = 0;
  for (std::uint32_t a = 0; a < file.arrays.size(); ++a) {
    if (layout.roles[a] == ArrayRole::kResident) {
      HEADRACE_TRY(scatter_resident(file_number, a, rows, requests, runs));
      continue;
    }
    const ArrayReader& reader = *file.arrays[a];
    pieces_.clear();
    const bool sparse = reader.info().chunk_shape.empty() && requests.size() * 2 < rows.count &&
                        reader.info().row_record_bytes() * rows.count > kSparseGapBytes;
    if (sparse) locate_wanted(reader, rows, requests);
    else HEADRACE_TRY(reader.locate(rows, pieces_));
    for (const Piece& p : pieces_) {
      tasks_.push_back({a, p});
      if (!first || p.rows.count == 0) continue;
      const std::uint64_t inside = std::min(p.rows.end(), rows.end()) - std::max(p.rows.first, rows.first);
      needed += inside == p.rows.count ? p.decoded_bytes : p.decoded_bytes / p.rows.count * inside;
    }
  }
  std::uint64_t decoded = 0;
  for (std::size_t begin = 0; begin < tasks_.size();) {
    if (cancelled.load(std::memory_order_relaxed)) return Error(ErrorCode::kCancelled, "the loader moved on");
    std::size_t end = begin;
    for (std::uint64_t bytes = 0; end < tasks_.size() && (end == begin || bytes < kReadTogetherBytes); ++end)
      bytes += tasks_[end].piece.stored.size;
    HEADRACE_TRY(read_and_decode(file, begin, end, rows, requests, runs, &decoded));
    begin = end;
  }
  counters_.add_decodes(decoded, needed);
  finish_streaming();
  return {};
}

Status BlockServer::read_and_decode(const SourceFile& file, std::size_t begin, std::size_t end, RowRange rows,
                                    std::span<const Request> requests, std::span<const RowRun> runs,
                                    std::uint64_t* decoded_bytes) {
  std::uint64_t clock = now_ns();
  ranges_.clear();
  for (std::size_t i = begin; i < end; ++i) ranges_.push_back(tasks_[i].piece.stored);
  HEADRACE_ASSIGN(const std::uint64_t bytes, batch_.plan(ranges_));
  HEADRACE_TRY(reserve_read_buffer(bytes));
  if (bytes > 0) {
    const ArrayReader& reader = *file.arrays[tasks_[begin].array];
    Status read = batch_.read(reader.file(), read_buffer_.bytes());
    // Bytes of a file that changed since it was indexed may decode to anything: 1 µs a block is well spent.
    if (read.ok()) read = reader.file().check_unchanged();
    if (!read.ok()) return std::move(read.error().with_file(file.path).with_field(reader.info().path).with_stage("read"));
    const std::uint64_t now = now_ns();
    counters_.clock.add(Stage::kRead, now - clock, bytes, batch_.merged().size());
    clock = now;
  }
  for (std::size_t i = begin; i < end; ++i) {
    const Task& task = tasks_[i];
    const ArrayReader& reader = *file.arrays[task.array];
    Result<DecodedPiece> decoded =
        reader.decode(task.piece, batch_.bytes(i - begin), {out_.bytes(), ping_.bytes(), pong_.bytes()});
    if (!decoded.ok()) return std::move(decoded.error());
    std::uint64_t now = now_ns();
    counters_.clock.add(Stage::kDecode, now - clock, task.piece.decoded_bytes);
    clock = now;
    *decoded_bytes += task.piece.decoded_bytes;
    if (reader.info().read_path == ReadPath::kLibrary) counters_.add_slow_piece();
    scatter(reader, task.array, task.piece.across, task.piece.rows, *decoded, rows, requests, runs);
    now = now_ns();
    counters_.clock.add(Stage::kScatter, now - clock, 0);
    clock = now;
  }
  return {};
}

const std::vector<RowGeometry>& BlockServer::geometry(const ArrayReader& reader, std::uint32_t array,
                                                      std::uint32_t across) {
  auto& known = geometries_[&reader];
  if (known.size() <= across) known.resize(across + 1);
  std::vector<RowGeometry>& g = known[across];
  if (g.empty())
    for (std::size_t f : fields_of_array_[array]) g.push_back(reader.geometry(across, source_.places[f].column));
  return g;
}

void BlockServer::scatter(const ArrayReader& reader, std::uint32_t array, std::uint32_t across, RowRange piece_rows,
                          const DecodedPiece& decoded, RowRange rows, std::span<const Request> requests,
                          std::span<const RowRun> runs) {
  const std::vector<RowGeometry>& geometries = geometry(reader, array, across);
  const std::vector<std::size_t>& fields = fields_of_array_[array];
  for (std::size_t k = 0; k < fields.size(); ++k) {
    const RowGeometry& g = geometries[k];
    const std::size_t row_bytes = (*source_.fields)[fields[k]].row_bytes();
    for (const RowRun& run : runs) {
      std::byte* const to = run.fields[fields[k]];
      for (std::uint32_t i = run.begin; i < run.end; ++i) {
        const std::uint64_t in_piece = rows.first + requests[i].row - piece_rows.first;  // wraps below, is large above
        if (in_piece >= piece_rows.count) continue;
        copy_row(g, to + requests[i].position * row_bytes, decoded.data + in_piece * decoded.row_stride_bytes);
      }
    }
  }
}

Result<ResidentArrays::Part> BlockServer::load(std::uint32_t file_number, std::size_t array, const Piece& piece) {
  const SourceFile& file = source_.files[file_number];
  const ArrayReader& reader = *file.arrays[array];
  ResidentArrays::Part part;
  part.rows = piece.rows;
  const ByteRange range = piece.stored;
  HEADRACE_ASSIGN(const std::uint64_t bytes, batch_.plan({&range, 1}));
  HEADRACE_TRY(reserve_read_buffer(bytes));
  if (bytes > 0) HEADRACE_TRY(batch_.read(reader.file(), read_buffer_.bytes()));
  HEADRACE_ASSIGN(const DecodedPiece decoded,
                  reader.decode(piece, batch_.bytes(0), {out_.bytes(), ping_.bytes(), pong_.bytes()}));
  part.row_stride_bytes = decoded.row_stride_bytes;
  HEADRACE_ASSIGN(part.data, PageBuffer::allocate(piece.rows.count * decoded.row_stride_bytes));
  std::copy_n(decoded.data, piece.rows.count * decoded.row_stride_bytes, part.data.data());
  counters_.add_decodes(piece.decoded_bytes, piece.decoded_bytes);
  return part;
}

Status BlockServer::scatter_resident(std::uint32_t file_number, std::uint32_t array, RowRange rows,
                                     std::span<const Request> requests, std::span<const RowRun> runs) {
  const ArrayReader& reader = *source_.files[file_number].arrays[array];
  const auto& pieces = resident_.arrays.at({file_number, array});
  const std::uint64_t start = now_ns();
  for (std::uint32_t across = 0; across < pieces.across.size(); ++across) {
    const auto& parts = pieces.across[across];
    auto it = std::upper_bound(parts.begin(), parts.end(), rows.first,
                               [](std::uint64_t row, const ResidentArrays::Part& p) { return row < p.rows.first; });
    for (--it; it != parts.end() && it->rows.first < rows.end(); ++it) {
      if (it->error) return *it->error;
      scatter(reader, array, across, it->rows, {it->data.data(), it->row_stride_bytes}, rows, requests, runs);
    }
  }
  counters_.clock.add(Stage::kScatter, now_ns() - start, 0);
  return {};
}

}  // namespace headrace
