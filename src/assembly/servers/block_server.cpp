#include "assembly/servers/block_server.h"

#include <algorithm>

#include "assembly/copying/row_copy.h"
#include "base/clock.h"

namespace headrace {
namespace {

constexpr std::size_t kManyPieces = 4;  // from here on pieces find their requests by order

}  // namespace

BlockServer::BlockServer(const Source& source, const BlockLayout& layout, const ResidentArrays& resident,
                         SideChunks& side_chunks, DecodeCounters& counters, std::shared_ptr<const Program> program,
                         std::size_t first_column)
    : source_(source),
      layout_(layout),
      resident_(resident),
      side_chunks_(side_chunks),
      counters_(counters),
      form_(*source.columns),
      sink_(*source.columns, program ? program : source.program, first_column),
      planner_(source, layout),
      decoder_(source, layout, counters),
      filler_(form_, layout, counters.clock),
      fields_of_array_(source.num_arrays()) {
  for (std::size_t f = 0; f < source.places.size(); ++f) fields_of_array_[source.places[f].array].push_back(f);
}

ServerNeed BlockServer::need(const Source& source, const BlockLayout& layout) {
  const BlockForm form(*source.columns);
  const PieceDecoder::Need decoder = PieceDecoder::need(source, layout);
  const BlockFiller::Need filler = BlockFiller::need(form, layout);
  std::uint64_t longest_row = 0;  // that must come whole, where encoded rows come in parts
  for (const StoredColumn& c : *source.columns) longest_row = std::max(longest_row, c.row_bytes());
  const std::uint64_t row_bytes = source.program ? PageBuffer::charge_for(longest_row) : 0;
  const std::uint64_t transform_bytes = source.program ? source.program->scratch_bytes() + longest_row : 0;
  return {decoder.scratch_bytes + transform_bytes, decoder.read_buffer_bytes, filler.dense_bytes,
          filler.coded_bytes + PageBuffer::charge_for(piece_scratch_bytes(form)) + row_bytes};
}

Status BlockServer::prepare() {
  return decoder_.prepare();
}

void BlockServer::release() {
  decoder_.release();
  filler_.release();
  piece_.reset();
  row_.reset();
}

void BlockServer::fail(RowRange piece_rows, Error error) {
  const RowRange rows = task_->rows;
  const std::uint64_t first = std::max(piece_rows.first, rows.first), end = std::min(piece_rows.end(), rows.end());
  failures_.push_back({{first - rows.first, end - first}, std::move(error)});
}

/// Rows of a piece that the block has, and no others.
void BlockServer::fail_piece(std::uint32_t file, const PieceTask& task, const Error& error) {
  runs_.clear();
  source_.files[file].arrays[task.array]->runs(task.piece, runs_);
  if (runs_.empty()) return fail(task.piece.rows, error);
  for (const PieceRun& run : runs_)
    if (run.first < task_->rows.end() && task_->rows.first < run.first + run.count) fail({run.first, run.count}, error);
}

/// Return what is wanted as moves by ascending row.
const Wanted& BlockServer::by_row(const Wanted& wanted) {
  if (!wanted.moves.empty()) return wanted;
  moves_.clear();
  for (std::uint32_t run = 0; run < wanted.runs.size(); ++run)
    for (std::uint32_t i = wanted.runs[run].begin; i < wanted.runs[run].end; ++i)
      moves_.push_back({wanted.requests[i].item, 1, wanted.requests[i].position, run});
  std::sort(moves_.begin(), moves_.end(), [](const Move& a, const Move& b) { return a.row < b.row; });
  wanted_ = {{}, moves_, wanted.runs, 1};
  return wanted_;
}

std::span<const RowFailure> BlockServer::serve(const BlockTask& task, const Wanted& wanted,
                                               const std::atomic<bool>& cancelled) {
  const std::uint32_t file = task.file;
  task_ = &task;
  wanted_ = wanted;
  failures_.clear();
  const struct NothingHalfKept {  // whatever happens, others may wait for the block
    BlockFiller& filler;
    ~NothingHalfKept() { filler.abandon(); }
  } guard{filler_};
  const std::uint64_t start_ns = decoded_cache_ ? now_ns() : 0;
  if (decoded_cache_ && serve_kept(task, wanted)) {
    if (ahead_) ahead_->forget(first_unit_ + static_cast<std::uint32_t>(task.block));
    note_memory();
    tell_policy(task, start_ns, true);
    return failures_;
  }

  const Wanted* const some = filler_.active() ? nullptr : &wanted;  // else all rows, to be kept
  const UnitReading reading(ahead_, first_unit_ + static_cast<std::uint32_t>(task.block), some, counters_.clock);
  planner_.plan(file, task.rows, wanted, filler_.active(), side_chunks_.enabled(), reading.pieces(), failures_);
  const auto tasks = planner_.tasks(), side_tasks = planner_.side_tasks();
  if (tasks.size() + side_tasks.size() > kManyPieces * source_.num_arrays()) by_row(wanted);
  bool whole = true;
  const auto gave_up = [&] {
    if (!cancelled.load(std::memory_order_relaxed)) return false;
    whole = false;
    fail(task.rows, Error(ErrorCode::kCancelled, "the loader moved on"));
    return true;
  };
  for (std::uint32_t a = 0; a < source_.num_arrays(); ++a)
    if (layout_.files[file].roles[a] == ArrayRole::kResident) serve_resident(file, a);
  for (const PieceTask& side : side_tasks) {
    if (gave_up()) break;
    serve_side_task(file, side);
  }
  for (std::size_t begin = 0; begin < tasks.size();) {
    if (gave_up()) break;
    const auto together = tasks.subspan(begin, PieceDecoder::read_together(tasks.subspan(begin)));
    const Status read = decoder_.read(file, together);
    for (std::size_t i = 0; i < together.size(); ++i) {
      if (read.ok())
        serve_task(file, together[i], i);
      else
        fail_piece(file, together[i], read.error());
    }
    begin += together.size();
  }
  // A block that was given up needed no more than was decoded.
  const std::uint64_t decoded = decoder_.take_decoded_bytes(), needed = planner_.needed_bytes();
  counters_.add_decodes(decoded, !task.first ? 0 : whole ? needed : std::min(decoded, needed));
  note_memory();
  finish_streaming();
  if (filler_.active() && (failures_.empty() || (whole && keep_damaged(task)))) filler_.finish();
  if (decoded_cache_) tell_policy(task, start_ns, false);
  return failures_;
}

void BlockServer::note_memory() {
  counters_.hold(decoder_.scratch_bytes() + filler_.scratch_bytes() + piece_.charged_bytes() + row_.charged_bytes(),
                 decoder_.read_buffer_bytes());
}

void BlockServer::serve_task(std::uint32_t file, const PieceTask& task, std::size_t i) {
  const ArrayReader& reader = *source_.files[file].arrays[task.array];
  find_runs(reader, task.piece);
  std::span<std::byte> out;
  if (filler_.active() && reader.info().repeats == 1 && runs_.empty())  // else its rows go to several places
    out = filler_.place(fields_of_array_[task.array], geometry(reader, task.array, task.piece.across)[0], task.piece);
  StageSpan span(counters_.clock, Stage::kDecode);
  const Result<RowsAt> rows = decoder_.decode(file, task, i, out);
  if (!rows.ok()) return fail_piece(file, task, rows.error());
  span.add_bytes(task.piece.decoded_bytes);
  span.switch_to(Stage::kScatter);
  put_piece(file, task, *rows, span);
}

const std::vector<RowGeometry>& BlockServer::geometry(const ArrayReader& reader, std::uint32_t array,
                                                      std::uint32_t across) {
  return geometries_.get(&reader, across, [&] {
    std::vector<RowGeometry> made;
    for (std::size_t f : fields_of_array_[array]) made.push_back(reader.geometry(across, source_.places[f].column));
    return made;
  });
}

void BlockServer::put(std::size_t field, const FieldRows& from, std::uint64_t first_row, const Wanted& wanted,
                      StageSpan& span) {
  SinkWork work = sink_.put(field, from, first_row, wanted);
  for (RowFailure& failure : work.failures) failures_.push_back(std::move(failure));
  span.add_bytes(work.written_bytes);
  counters_.add_requests_scanned(work.requests_scanned);
}

void BlockServer::find_runs(const ArrayReader& reader, const Piece& piece) {
  runs_.clear();
  reader.runs(piece, runs_);
}

/// Rows of a piece, of which the runs were found, to all fields that are columns of its array.
void BlockServer::put_piece(std::uint32_t file, const PieceTask& task, const RowsAt& rows, StageSpan& span) {
  const std::uint32_t array = task.array, across = task.piece.across;
  const ArrayReader& reader = *source_.files[file].arrays[array];
  RowsAt at = rows;
  if (!runs_.empty()) {
    by_row(wanted_);
    at.first_row = decoder_.first_row_of(file);
  }
  const std::vector<RowGeometry>& geometries = geometry(reader, array, across);
  const std::vector<std::size_t>& fields = fields_of_array_[array];
  const std::uint64_t first_row = decoder_.first_row_of(file) + task_->rows.first;
  for (std::size_t k = 0; k < fields.size(); ++k) {
    const bool counts_rows = array == 0 && across == 0 && k == 0 && wanted_.counts_rows;
    const std::uint64_t weight = part_weight(fields[k], across, reader.pieces_across());
    const FieldRows from{at, &geometries[k], weight, counts_rows, runs_, reader.info().repeats > 1};
    put(fields[k], from, first_row, wanted_, span);
    if (!filler_.active()) continue;
    const std::span<const std::size_t> field(&fields[k], 1);
    const std::span<const RowGeometry> geometry_of_field(&geometries[k], 1);
    if (runs_.empty()) filler_.fill(field, geometry_of_field, rows, first_row);
    for (const PieceRun& run : runs_) filler_.fill(field, geometry_of_field, from.run_at(run), first_row);
  }
}

void BlockServer::serve_side_task(std::uint32_t file, const PieceTask& task) {
  const auto part =
      side_chunks_.get({file, task.array, task.piece.id}, [&] { return decoder_.load(file, task.array, task.piece); });
  if (!part.ok()) return fail_piece(file, task, part.error());
  StageSpan span(counters_.clock, Stage::kScatter);
  const DecodedPart& p = **part;
  find_runs(*source_.files[file].arrays[task.array], task.piece);
  put_piece(file, task, {p.data.data(), p.row_stride_bytes, decoder_.first_row_of(file) + p.rows.first, p.rows.count},
            span);
}

}  // namespace headrace
