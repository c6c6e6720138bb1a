#include "dataset/volumes/volume_grid.h"

#include <algorithm>

namespace headrace {
namespace {

constexpr std::uint64_t kRowsBytes = 1 << 20;  // of rows that are decoded together where any may be

}  // namespace

Result<CellGrid> volume_grid(const ArrayReader& array, const Axes& box) {
  const ArrayInfo& info = array.info();
  CellGrid grid;
  grid.rank = info.shape.size();
  grid.element_bytes = info.record_bytes;
  grid.shape.fill(1), grid.cell.fill(1);
  std::ranges::copy(info.shape, grid.shape.begin());
  const bool own = info.read_path == ReadPath::kNative || info.read_path == ReadPath::kConverted;
  if (own && info.layout == Layout::kChunked && info.chunk_shape.size() == grid.rank) {
    std::ranges::copy(info.chunk_shape, grid.cell.begin());
    return grid;
  }
  std::vector<Piece> pieces;
  if (info.read_path == ReadPath::kNative && info.rows() > 0 && info.row_record_bytes() > 0)
    HEADRACE_TRY(array.locate({0, info.rows()}, pieces));
  if (pieces.size() == 1 && pieces[0].stored.range.size > 0 && array.is_plain(pieces[0])) {
    grid.cells = CellGrid::Cells::kPlain;
    for (std::size_t a = 0; a < grid.rank; ++a)
      grid.cell[a] = std::clamp<std::uint64_t>(box[a], 1, std::max<std::uint64_t>(grid.shape[a], 1));
    return grid;
  }
  grid.cells = CellGrid::Cells::kRows;
  grid.cell = grid.shape;
  const std::uint64_t row_bytes = std::max<std::uint64_t>(info.row_record_bytes(), 1);
  grid.cell[0] = std::max<std::uint64_t>(info.chunk_rows() > 1 ? info.chunk_rows() : kRowsBytes / row_bytes, 1);
  return grid;
}

}  // namespace headrace
