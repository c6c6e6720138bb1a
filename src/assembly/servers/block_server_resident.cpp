// The part of BlockServer that has to do with side arrays which are kept decoded (resident_arrays.h).
#include <algorithm>
#include <cstring>

#include "assembly/copying/row_kernels.h"
#include "assembly/servers/block_server.h"

namespace headrace {

void BlockServer::load(const ResidentArrays::ArrayPart& part, ResidentArrays& to, const std::function<bool()>& go_on) {
  const ArrayReader& reader = *source_.files[part.file].arrays[part.array];
  std::vector<Piece> pieces;
  if (const Status located = reader.locate(part.rows, pieces); !located.ok())
    return to.fail(part, part.rows, located.error());
  std::vector<PieceTask> tasks;
  tasks.reserve(pieces.size());
  for (const Piece& piece : pieces)
    if (piece.rows.count > 0) tasks.push_back({part.array, piece});
  const std::span<const PieceTask> all = tasks;
  for (std::size_t begin = 0; begin < all.size() && go_on();) {
    const auto together = all.subspan(begin, PieceDecoder::read_together(all.subspan(begin)));
    const Status read = decoder_.read(part.file, together);
    for (std::size_t i = 0; i < together.size() && go_on(); ++i) {
      const Piece& piece = together[i].piece;
      const Result<RowsAt> decoded = read.ok() ? decoder_.decode(part.file, together[i], i, {}) : read.error();
      if (decoded.ok()) {
        place(part, piece, *decoded, to);
        continue;
      }
      runs_.clear();
      reader.runs(piece, runs_);
      if (runs_.empty()) to.fail(part, piece.rows, decoded.error());
      for (const PieceRun& run : runs_) to.fail(part, {run.first, run.count}, decoded.error());
    }
    begin += together.size();
  }
  const std::uint64_t bytes = decoder_.take_decoded_bytes();
  counters_.add_decodes(bytes, bytes);
  note_memory();
}

namespace {

/// Copy rows of [begin, end), counted as `decoded` counts them, to `to`, where row `begin` belongs.
void copy_rows(const RowsAt& decoded, std::uint64_t begin, std::uint64_t end, const RowGeometry& geometry,
               std::uint64_t row_bytes, std::byte* to) {
  const std::byte* from = decoded.data + (begin - decoded.first_row) * decoded.stride_bytes;
  if (lies_dense(geometry, row_bytes) && decoded.stride_bytes == row_bytes)
    std::memcpy(to, from, (end - begin) * row_bytes);
  else
    for (std::uint64_t row = begin; row < end; ++row, to += row_bytes, from += decoded.stride_bytes)
      copy_row(geometry, to, from);
}

}  // namespace

/// Copy the part's rows of a decoded piece to their places in the columns, of repeated rows one.
void BlockServer::place(const ResidentArrays::ArrayPart& part, const Piece& piece, const RowsAt& decoded,
                        ResidentArrays& to) {
  const ArrayReader& reader = *source_.files[part.file].arrays[part.array];
  const std::vector<RowGeometry>& geometries = geometry(reader, part.array, piece.across);
  const std::vector<std::byte*>& columns = to.columns(part.file, part.array);
  const std::uint64_t first_row = decoder_.first_row_of(part.file), repeats = reader.info().repeats;
  const std::uint64_t part_begin = first_row + part.rows.first, part_end = first_row + part.rows.end();
  find_runs(reader, piece);
  for (std::size_t k = 0; k < columns.size(); ++k) {
    const std::uint64_t row_bytes = form_.row_bytes(fields_of_array_[part.array][k]);
    const auto copy = [&](const RowsAt& rows) {
      const std::uint64_t begin = std::max(rows.first_row, part_begin);
      const std::uint64_t end = std::min(rows.first_row + rows.count, part_end);
      if (begin >= end) return;
      std::byte* const at = columns[k] + (begin - first_row) / repeats * row_bytes;
      copy_rows(rows, begin, repeats > 1 ? begin + 1 : end, geometries[k], row_bytes, at);
    };
    if (runs_.empty()) copy(decoded);
    FieldRows from{decoded};
    from.rows.first_row = first_row;
    from.repeated = repeats > 1;
    for (const PieceRun& run : runs_) copy(from.run_at(run));
  }
}

void BlockServer::serve_resident(std::uint32_t file, std::uint32_t array) {
  StageSpan span(counters_.clock, Stage::kScatter);
  const std::vector<std::byte*>& columns = resident_.columns(file, array);
  const std::uint64_t file_row = decoder_.first_row_of(file), first_row = file_row + task_->rows.first;
  const std::uint64_t repeats = source_.files[file].arrays[array]->info().repeats;
  runs_.clear();
  for (std::uint64_t i = task_->rows.first / repeats; repeats > 1 && i * repeats < task_->rows.end(); ++i)
    runs_.push_back({i * repeats, repeats, i});
  if (!runs_.empty()) by_row(wanted_);
  for (std::size_t k = 0; k < columns.size(); ++k) {
    const std::size_t field = fields_of_array_[array][k];
    const RowsAt rows{columns[k], form_.row_bytes(field), file_row, source_.files[file].rows};
    const bool counts_rows = array == 0 && k == 0 && wanted_.counts_rows;
    const FieldRows from{rows, nullptr, field_weight(field), counts_rows, runs_, repeats > 1};
    put(field, from, first_row, wanted_, span);
    const RowGeometry dense{0, 0, form_.row_bytes(field), {}};
    if (!filler_.active()) continue;
    if (runs_.empty()) filler_.fill({&field, 1}, {&dense, 1}, rows, first_row);
    for (const PieceRun& run : runs_) filler_.fill({&field, 1}, {&dense, 1}, from.run_at(run), first_row);
  }
  for (const RowFailure& failure : resident_.failures(file, array, task_->rows)) fail(failure.rows, failure.error);
}

}  // namespace headrace
