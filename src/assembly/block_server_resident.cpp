// The part of BlockServer that has to do with side arrays which are kept decoded (resident_arrays.h).
#include <algorithm>
#include <cstring>

#include "assembly/block_server.h"
#include "assembly/row_kernels.h"

namespace headrace {

void BlockServer::load(const ResidentArrays::Part& part, ResidentArrays& to, const std::function<bool()>& go_on) {
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
      if (decoded.ok())
        place(part, piece.across, *decoded, to);
      else
        to.fail(part, piece.rows, decoded.error());
    }
    begin += together.size();
  }
  const std::uint64_t bytes = decoder_.take_decoded_bytes();
  counters_.add_decodes(bytes, bytes);
  note_memory();
}

/// Copy the part's rows of a decoded piece to their places in the columns.
void BlockServer::place(const ResidentArrays::Part& part, std::uint32_t across, const RowsAt& decoded,
                        ResidentArrays& to) {
  const ArrayReader& reader = *source_.files[part.file].arrays[part.array];
  const std::vector<RowGeometry>& geometries = geometry(reader, part.array, across);
  const std::vector<std::byte*>& columns = to.columns(part.file, part.array);
  const std::uint64_t first_row = decoder_.first_row_of(part.file);
  const std::uint64_t begin = std::max(decoded.first_row, first_row + part.rows.first);
  const std::uint64_t end = std::min(decoded.first_row + decoded.count, first_row + part.rows.end());
  for (std::size_t k = 0; k < columns.size() && begin < end; ++k) {
    const std::uint64_t row_bytes = form_.row_bytes(fields_of_array_[part.array][k]);
    const std::byte* from = decoded.data + (begin - decoded.first_row) * decoded.stride_bytes;
    std::byte* at = columns[k] + (begin - first_row) * row_bytes;
    if (lies_dense(geometries[k], row_bytes) && decoded.stride_bytes == row_bytes)
      std::memcpy(at, from, (end - begin) * row_bytes);
    else
      for (std::uint64_t row = begin; row < end; ++row, at += row_bytes, from += decoded.stride_bytes)
        copy_row(geometries[k], at, from);
  }
}

void BlockServer::serve_resident(std::uint32_t file, std::uint32_t array) {
  StageSpan span(counters_.clock, Stage::kScatter);
  const std::vector<std::byte*>& columns = resident_.columns(file, array);
  const std::uint64_t file_row = decoder_.first_row_of(file), first_row = file_row + task_->rows.first;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    const std::size_t field = fields_of_array_[array][k];
    const RowsAt rows{columns[k], form_.row_bytes(field), file_row, source_.files[file].rows};
    const bool counts_rows = array == 0 && k == 0 && wanted_.counts_rows;
    put(field, {rows, nullptr, field_weight(field), counts_rows}, first_row, wanted_, span);
    const RowGeometry dense{0, 0, form_.row_bytes(field), {}};
    if (filler_.active()) filler_.fill({&field, 1}, {&dense, 1}, rows, first_row);
  }
  for (const RowFailure& failure : resident_.failures(file, array, task_->rows)) fail(failure.rows, failure.error);
}

}  // namespace headrace
