#include "format/chunk_grid.h"

#include <algorithm>
#include <limits>

namespace headrace {

bool ChunkGrid::can_number(const std::vector<std::uint64_t>& shape, const std::vector<std::uint64_t>& chunk) {
  std::uint64_t cells = 1, across = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::uint64_t along = shape[d] / chunk[d] + (shape[d] % chunk[d] != 0);
    if (__builtin_mul_overflow(cells, std::max<std::uint64_t>(along, 1), &cells)) return false;
    if (d > 0 && __builtin_mul_overflow(across, std::max<std::uint64_t>(along, 1), &across)) return false;
  }
  return cells <= std::numeric_limits<std::int64_t>::max() && across <= std::numeric_limits<std::int32_t>::max();
}

ChunkGrid::ChunkGrid(std::vector<std::uint64_t> shape, std::vector<std::uint64_t> chunk)
    : shape_(std::move(shape)), chunk_(std::move(chunk)), num_cells_(1) {
  for (std::size_t d = 0; d < shape_.size(); ++d) {
    const std::uint64_t along = shape_[d] / chunk_[d] + (shape_[d] % chunk_[d] != 0);
    grid_.push_back(d == 0 ? along : std::max<std::uint64_t>(along, 1));  // rows without elements have a chunk, too
    num_cells_ *= grid_[d];
    chunk_elements_ *= chunk_[d];
    if (d > 0) across_ *= static_cast<std::uint32_t>(grid_[d]);
  }
}

std::vector<std::uint64_t> ChunkGrid::coordinates(std::uint64_t cell) const {
  std::vector<std::uint64_t> at(grid_.size());
  for (std::size_t d = at.size(); d-- > 0; cell /= grid_[d]) at[d] = cell % grid_[d];
  return at;
}

std::uint64_t ChunkGrid::number(const std::vector<std::uint64_t>& coordinates) const {
  std::uint64_t cell = 0;
  for (std::size_t d = 0; d < grid_.size(); ++d) cell = cell * grid_[d] + coordinates[d];
  return cell;
}

Piece ChunkGrid::piece(std::uint64_t cell) const {
  Piece piece;
  piece.id = cell;
  piece.rows.first = cell / across_ * chunk_[0];
  piece.rows.count = std::min(chunk_[0], shape_[0] - piece.rows.first);
  piece.across = static_cast<std::uint32_t>(cell % across_);
  return piece;
}

ChunkGrid::Cells ChunkGrid::cells_of(RowRange rows) const {
  return {rows.first / chunk_[0] * across_, ((rows.end() - 1) / chunk_[0] + 1) * across_};
}

bool ChunkGrid::contains(const std::vector<std::uint64_t>& coordinates) const {
  if (coordinates.size() != grid_.size()) return false;
  for (std::size_t d = 0; d < grid_.size(); ++d)
    if (coordinates[d] >= grid_[d]) return false;
  return true;
}

void ChunkGrid::cells_inside(const ChunkGrid& coarse, std::uint64_t cell, Cells range,
                             std::vector<std::uint64_t>& out) const {
  const std::vector<std::uint64_t> at = coarse.coordinates(cell);
  std::vector<std::uint64_t> first(at.size()), count(at.size()), step(at.size(), 0);
  for (std::size_t d = 0; d < at.size(); ++d) {
    const std::uint64_t per = coarse.chunk_[d] / chunk_[d];
    first[d] = at[d] * per;
    count[d] = std::min(per, grid_[d] - first[d]);
  }
  for (;;) {
    std::uint64_t number = 0;
    for (std::size_t d = 0; d < at.size(); ++d) number = number * grid_[d] + first[d] + step[d];
    if (number >= range.first && number < range.end) out.push_back(number);
    std::size_t d = at.size();
    while (d > 0 && ++step[d - 1] == count[d - 1]) step[--d] = 0;
    if (d == 0) return;
  }
}

RowGeometry ChunkGrid::geometry(std::uint32_t across, std::uint64_t record_bytes, const RowGeometry& element) const {
  const std::vector<std::uint64_t> shape(shape_.begin() + 1, shape_.end()), chunk(chunk_.begin() + 1, chunk_.end());
  const std::vector<std::uint64_t> zeros(shape.size(), 0);
  std::vector<std::uint64_t> start(shape.size()), count(shape.size());
  std::uint64_t left = across;
  for (std::size_t d = shape.size(); d-- > 0; left /= grid_[d + 1]) {
    start[d] = left % grid_[d + 1] * chunk[d];
    count[d] = std::min(chunk[d], shape[d] - start[d]);
  }
  return row_box(chunk, shape, zeros, start, count, record_bytes, element);
}

}  // namespace headrace
