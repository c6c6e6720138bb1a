#include "assembly/block_server.h"

#include <algorithm>

#include "assembly/row_copy.h"
#include "base/clock.h"

namespace headrace {
namespace {

constexpr std::uint64_t kReadTogetherBytes = 4 << 20;  // stored bytes of a block that are read before decoding begins
constexpr std::uint32_t kGeometriesKept = 4096;        // of an array: rows spread over more chunks are not worth memory
constexpr std::size_t kPiecesTogether = 4096;          // no more pieces than this, so that a block can be given up
constexpr std::uint64_t kSparseGapBytes = 64 << 10;    // rows nearer than this are read together

}  // namespace

BlockServer::BlockServer(const Source& source, const BlockLayout& layout, const ResidentArrays& resident,
                         SideChunks& side_chunks, DecodeCounters& counters)
    : source_(source),
      layout_(layout),
      resident_(resident),
      side_chunks_(side_chunks),
      counters_(counters),
      form_(*source.fields),
      fields_of_array_(source.num_arrays()),
      file_weights_(file_weights(source)) {
  for (std::size_t f = 0; f < source.places.size(); ++f) fields_of_array_[source.places[f].array].push_back(f);
  std::uint64_t rows = 0;
  for (const SourceFile& file : source.files) {
    first_row_of_file_.push_back(rows);
    rows += file.rows;
  }
}

std::vector<std::uint64_t> BlockServer::file_weights(const Source& source) {
  std::vector<std::uint64_t> weights;
  for (const SourceFile& file : source.files) {
    std::uint64_t& sum = weights.emplace_back(0);
    for (std::uint32_t a = 0; a < file.arrays.size(); ++a)
      sum += sum_of_piece_weights(a, file.arrays[a]->pieces_across());
  }
  return weights;
}

ServerNeed BlockServer::need(const Source& source, const BlockLayout& layout) {
  const BlockForm form(*source.fields);
  std::uint64_t most_rows = 0;
  for (const FileLayout& file : layout.files) most_rows = std::max(most_rows, file.block_rows);
  std::uint64_t out = 0, filter = 0, stored = 0;
  for (std::size_t f = 0; f < source.files.size(); ++f) {
    std::uint64_t block = 0,
                  piece = 0;  // stored bytes are at most the decoded ones, but for data that does not compress
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
  return {
      PageBuffer::charge_for(out) + 2 * PageBuffer::charge_for(filter), PageBuffer::charge_for(stored + stored / 4),
      PageBuffer::charge_for(form.bytes(most_rows)),
      PageBuffer::charge_for(most_coded_bytes(form, most_rows)) + PageBuffer::charge_for(piece_scratch_bytes(form))};
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
  for (PageBuffer* b : {&out_, &ping_, &pong_, &read_buffer_, &dense_, &coded_, &piece_}) b->reset();
}

Status BlockServer::reserve_read_buffer(std::uint64_t bytes) {
  if (bytes <= read_buffer_.size_bytes()) return {};
  read_buffer_.reset();
  HEADRACE_ASSIGN(read_buffer_, PageBuffer::allocate(bytes + bytes / 4));
  return {};
}

/// Rows of an addressable array, when few of the block's rows are wanted: only those, as runs with small gaps.
Status BlockServer::locate_wanted(const ArrayReader& reader, RowRange rows) {
  const std::uint64_t gap_rows = kSparseGapBytes / std::max<std::uint64_t>(reader.info().row_record_bytes(), 1) + 1;
  for (std::size_t i = 0; i < wanted_rows_.size();) {
    std::size_t end = i + 1;
    while (end < wanted_rows_.size() && wanted_rows_[end] - wanted_rows_[end - 1] <= gap_rows) ++end;
    const std::uint64_t first = wanted_rows_[i], last = wanted_rows_[end - 1];
    HEADRACE_TRY(reader.locate({rows.first + first, last - first + 1}, pieces_));
    i = end;
  }
  return {};
}

void BlockServer::fail(RowRange piece_rows, RowRange rows, Error error) {
  const std::uint64_t first = std::max(piece_rows.first, rows.first), end = std::min(piece_rows.end(), rows.end());
  failures_.push_back({{first - rows.first, end - first}, std::move(error)});
}

/// The pieces to decode: all of the block's, or those that hold a wanted row when not every row is wanted.
void BlockServer::plan_tasks(std::uint32_t file_number, RowRange rows, std::span<const Request> requests, bool first) {
  const SourceFile& file = source_.files[file_number];
  tasks_.clear();
  side_tasks_.clear();
  wanted_rows_.clear();
  const bool some = requests.size() < rows.count && filling_.where == Filling::kNowhere;
  if (some) {
    for (const Request& r : requests) wanted_rows_.push_back(r.row);
    std::sort(wanted_rows_.begin(), wanted_rows_.end());
  }
  for (std::uint32_t a = 0; a < file.arrays.size(); ++a) {
    const ArrayRole role = layout_.files[file_number].roles[a];
    if (role == ArrayRole::kResident) continue;
    std::vector<Task>& tasks = role == ArrayRole::kStraddling && side_chunks_.enabled() ? side_tasks_ : tasks_;
    const ArrayReader& reader = *file.arrays[a];
    pieces_.clear();
    const bool sparse = some && reader.info().chunk_shape.empty() && requests.size() * 2 < rows.count &&
                        reader.info().row_record_bytes() * rows.count > kSparseGapBytes;
    const Status located = sparse ? locate_wanted(reader, rows) : reader.locate(rows, pieces_);
    if (!located.ok()) {
      fail(rows, rows, located.error());
      continue;
    }
    for (const Piece& p : pieces_) {
      if (p.rows.count == 0) continue;
      const std::uint64_t begin = std::max(p.rows.first, rows.first), end = std::min(p.rows.end(), rows.end());
      if (first)
        needed_bytes_ += end - begin == p.rows.count ? p.decoded_bytes : p.decoded_bytes / p.rows.count * (end - begin);
      if (some) {
        const auto next = std::lower_bound(wanted_rows_.begin(), wanted_rows_.end(), begin - rows.first);
        if (next == wanted_rows_.end() || *next >= end - rows.first) continue;
      }
      tasks.push_back({a, p});
    }
  }
}

std::span<const RowFailure> BlockServer::serve(const BlockTask& block, std::span<const Request> requests,
                                               std::span<const RowRun> runs, const std::atomic<bool>& cancelled) {
  const std::uint32_t file_number = block.file;
  const RowRange rows = block.rows;
  const SourceFile& file = source_.files[file_number];
  failures_.clear();
  decoded_bytes_ = needed_bytes_ = 0;
  const struct NothingHalfKept {  // whatever happens, others may wait for the block
    BlockServer& server;
    const BlockTask& task;
    ~NothingHalfKept() {
      if (server.filling_.where != Filling::kNowhere) server.stop_filling(task);
    }
  } guard{*this, block};
  if (keeper_ && serve_kept(block, requests, runs)) return failures_;
  plan_tasks(file_number, rows, requests, block.first);
  for (std::uint32_t a = 0; a < file.arrays.size(); ++a)
    if (layout_.files[file_number].roles[a] == ArrayRole::kResident)
      scatter_resident(file_number, a, rows, requests, runs);
  for (const Task& task : side_tasks_) {
    if (cancelled.load(std::memory_order_relaxed)) {
      fail(rows, rows, Error(ErrorCode::kCancelled, "the loader moved on"));
      break;
    }
    const Status done = serve_from_side_chunks(file_number, task, rows, requests, runs);
    if (!done.ok()) fail(task.piece.rows, rows, done.error());
  }
  for (std::size_t begin = 0; begin < tasks_.size();) {
    if (cancelled.load(std::memory_order_relaxed)) {
      fail(rows, rows, Error(ErrorCode::kCancelled, "the loader moved on"));
      break;
    }
    std::size_t end = begin;
    const std::size_t last = std::min(tasks_.size(), begin + kPiecesTogether);
    for (std::uint64_t bytes = 0; end < last && (end == begin || bytes < kReadTogetherBytes); ++end)
      bytes += tasks_[end].piece.stored.range.size;
    const Status read = read_together(file, begin, end);
    for (std::size_t i = begin; i < end; ++i) {
      const Task& task = tasks_[i];
      const Status done =
          read.ok() ? decode_and_scatter(file_number, task, batch_.bytes(i - begin), rows, requests, runs) : read;
      if (!done.ok()) fail(task.piece.rows, rows, done.error());
    }
    begin = end;
  }
  counters_.add_decodes(decoded_bytes_, needed_bytes_);
  finish_streaming();
  if (filling_.where != Filling::kNowhere) finish_filling(block);
  return failures_;
}

Status BlockServer::read_together(const SourceFile& file, std::size_t begin, std::size_t end) {
  const std::uint64_t start = now_ns();
  ranges_.clear();
  for (std::size_t i = begin; i < end; ++i) ranges_.push_back(tasks_[i].piece.stored);
  HEADRACE_ASSIGN(const std::uint64_t bytes, batch_.plan(ranges_));
  HEADRACE_TRY(reserve_read_buffer(bytes));
  if (bytes == 0) return {};
  Status read = batch_.read(read_buffer_.bytes());
  if (!read.ok()) {  // the batch is of several arrays, perhaps of several files: name the first whose bytes failed
    const Error& error = read.error();
    const auto failed = std::ranges::find_if(ranges_, [&](const FileRange& r) {
      const bool meets = r.range.offset < error.bytes().end() && error.bytes().offset < r.range.end();
      return r.range.size > 0 && r.file->name() == error.file() && (error.bytes().size == 0 || meets);
    });
    const std::size_t task = failed == ranges_.end() ? begin : begin + (failed - ranges_.begin());
    return std::move(read.error().with_field(file.arrays[tasks_[task].array]->info().path));
  }
  counters_.clock.add(Stage::kRead, now_ns() - start, bytes, batch_.merged().size());
  return {};
}

Status BlockServer::decode_and_scatter(std::uint32_t file, const Task& task, std::span<const std::byte> stored,
                                       RowRange rows, std::span<const Request> requests, std::span<const RowRun> runs) {
  const ArrayReader& reader = *source_.files[file].arrays[task.array];
  std::span<std::byte> out = out_.bytes();
  if (filling_.where != Filling::kNowhere) {
    const auto there = place_to_fill(task.array, geometry(reader, task.array, task.piece.across), task.piece, rows);
    if (!there.empty()) out = there;
  }
  StageSpan span(counters_.clock, Stage::kDecode);
  HEADRACE_ASSIGN(const DecodedPiece decoded, reader.decode(task.piece, stored, {out, ping_.bytes(), pong_.bytes()}));
  span.add_bytes(task.piece.decoded_bytes);
  decoded_bytes_ += task.piece.decoded_bytes;
  if (reader.info().read_path == ReadPath::kLibrary) counters_.add_slow_piece();
  span.switch_to(Stage::kScatter);
  span.add_bytes(scatter(file, task.array, task.piece.across, task.piece.rows, decoded, rows, requests, runs));
  return {};
}

const std::vector<RowGeometry>& BlockServer::geometry(const ArrayReader& reader, std::uint32_t array,
                                                      std::uint32_t across) {
  auto& known = geometries_[&reader];
  const bool kept = across < kGeometriesKept;
  if (kept && known.size() <= across) known.resize(across + 1);
  if (!kept) passing_geometry_.clear();
  std::vector<RowGeometry>& g = kept ? known[across] : passing_geometry_;
  if (g.empty())
    for (std::size_t f : fields_of_array_[array]) g.push_back(reader.geometry(across, source_.places[f].column));
  return g;
}

/// \return Bytes written.
std::uint64_t BlockServer::scatter(std::uint32_t file, std::uint32_t array, std::uint32_t across, RowRange piece_rows,
                                   const DecodedPiece& decoded, RowRange rows, std::span<const Request> requests,
                                   std::span<const RowRun> runs) {
  const ArrayReader& reader = *source_.files[file].arrays[array];
  const std::vector<RowGeometry>& geometries = geometry(reader, array, across);
  const std::vector<std::size_t>& fields = fields_of_array_[array];
  std::uint64_t bytes = 0;
  for (std::size_t k = 0; k < fields.size(); ++k) {
    const RowGeometry& g = geometries[k];
    const std::size_t row_bytes = (*source_.fields)[fields[k]].row_bytes();
    std::uint64_t copied = 0;
    for (const RowRun& run : runs) {
      std::byte* const to = run.fields[fields[k]];
      for (std::uint32_t i = run.begin; i < run.end; ++i) {
        const std::uint64_t in_piece = rows.first + requests[i].row - piece_rows.first;  // wraps below, is large above
        if (in_piece >= piece_rows.count) continue;
        copy_row(g, to + requests[i].position * row_bytes, decoded.data + in_piece * decoded.row_stride_bytes);
        ++copied;
      }
    }
    bytes += copied * g.filled_bytes();
  }
  if (filling_.where != Filling::kNowhere) fill_rows(array, geometries, piece_rows, decoded, rows);
  if (!runs.empty() && runs[0].digest) add_digests(file, array, across, piece_rows, rows, requests, runs);
  return bytes;
}

/// Of the rows that scatter() has just taken from a piece: their numbers come from where the piece lies.
void BlockServer::add_digests(std::uint32_t file, std::uint32_t array, std::uint32_t across, RowRange piece_rows,
                              RowRange rows, std::span<const Request> requests, std::span<const RowRun> runs) const {
  const std::uint64_t weight = piece_weight(array, across), first_row = first_row_of_file_[file];
  const bool first_piece = array == 0 && across == 0;
  for (const RowRun& run : runs) {
    std::uint64_t placed = 0;
    for (std::uint32_t i = run.begin; i < run.end; ++i) {
      const std::uint64_t in_piece = rows.first + requests[i].row - piece_rows.first;
      if (in_piece >= piece_rows.count) continue;
      const std::uint64_t stored_row = piece_rows.first + in_piece;
      placed += place_hash(file, stored_row, run.first_position + requests[i].position);
      if (first_piece) run.digest->sums.add(first_row + stored_row);
    }
    run.digest->placed += placed * weight;
  }
}

Status BlockServer::serve_from_side_chunks(std::uint32_t file_number, const Task& task, RowRange rows,
                                           std::span<const Request> requests, std::span<const RowRun> runs) {
  const ArrayReader& reader = *source_.files[file_number].arrays[task.array];
  HEADRACE_ASSIGN(const std::shared_ptr<const DecodedPart> part,
                  side_chunks_.get({file_number, task.array, task.piece.id}, [&] {
                    StageSpan span(counters_.clock, Stage::kDecode);
                    span.add_bytes(task.piece.decoded_bytes);
                    decoded_bytes_ += task.piece.decoded_bytes;
                    if (reader.info().read_path == ReadPath::kLibrary) counters_.add_slow_piece();
                    return load(file_number, task.array, task.piece);
                  }));
  StageSpan span(counters_.clock, Stage::kScatter);
  span.add_bytes(scatter(file_number, task.array, task.piece.across, part->rows,
                         {part->data.data(), part->row_stride_bytes}, rows, requests, runs));
  return {};
}

Result<DecodedPart> BlockServer::load(std::uint32_t file_number, std::size_t array, const Piece& piece) {
  const SourceFile& file = source_.files[file_number];
  const ArrayReader& reader = *file.arrays[array];
  DecodedPart part;
  part.rows = piece.rows;
  HEADRACE_ASSIGN(const std::uint64_t bytes, batch_.plan({&piece.stored, 1}));
  HEADRACE_TRY(reserve_read_buffer(bytes));
  if (Status read = batch_.read(read_buffer_.bytes()); !read.ok())
    return std::move(read.error().with_field(reader.info().path));
  HEADRACE_ASSIGN(const DecodedPiece decoded,
                  reader.decode(piece, batch_.bytes(0), {out_.bytes(), ping_.bytes(), pong_.bytes()}));
  part.row_stride_bytes = decoded.row_stride_bytes;
  HEADRACE_ASSIGN(part.data, PageBuffer::allocate(piece.rows.count * decoded.row_stride_bytes));
  std::copy_n(decoded.data, piece.rows.count * decoded.row_stride_bytes, part.data.data());
  return part;
}

void BlockServer::scatter_resident(std::uint32_t file_number, std::uint32_t array, RowRange rows,
                                   std::span<const Request> requests, std::span<const RowRun> runs) {
  const auto& pieces = resident_.arrays.at({file_number, array});
  StageSpan span(counters_.clock, Stage::kScatter);
  for (std::uint32_t across = 0; across < pieces.across.size(); ++across) {
    const auto& parts = pieces.across[across];
    auto it = std::upper_bound(parts.begin(), parts.end(), rows.first,
                               [](std::uint64_t row, const ResidentArrays::Part& p) { return row < p.rows.first; });
    for (--it; it != parts.end() && it->rows.first < rows.end(); ++it) {
      if (it->error)
        fail(it->rows, rows, *it->error);
      else
        span.add_bytes(scatter(file_number, array, across, it->rows, {it->data.data(), it->row_stride_bytes}, rows,
                               requests, runs));
    }
  }
}

}  // namespace headrace
