#include "format/format_reader.h"

#include <algorithm>

namespace headrace {

Status ArrayReader::locate_cells(std::span<const std::uint64_t>, std::vector<Piece>&) const {
  return Error(ErrorCode::kUnsupported, "the array has no grid of chunks that can be read one by one")
      .with_field(info().path)
      .with_hint("Rows of it can be read; boxes need an array that is stored in chunks.");
}

std::uint64_t ArrayReader::decoded_rows(const Piece& piece) const {
  std::vector<PieceRun> listed;
  runs(piece, listed);
  if (listed.empty()) return piece.rows.count;
  std::uint64_t rows = 0;
  for (const PieceRun& run : listed) rows = std::max(rows, run.index + (info().repeats > 1 ? 1 : run.count));
  return rows;
}

RowGeometry ArrayReader::element_geometry(std::size_t column) const {
  const Column& c = info().columns[column];
  RowGeometry element;
  element.src_offset_bytes = c.offset;
  element.run_bytes = c.dtype.itemsize;
  for (const std::uint64_t n : c.inner_shape) element.run_bytes *= n;
  return element;
}

}  // namespace headrace
