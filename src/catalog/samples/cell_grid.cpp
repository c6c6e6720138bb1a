#include "catalog/samples/cell_grid.h"

#include <algorithm>

namespace headrace {

std::uint64_t CellGrid::num_cells() const {
  std::uint64_t n = 1;
  for (std::size_t a = 0; a < rank; ++a) n *= cells_along(a);
  return n;
}

std::uint64_t CellGrid::cell_elements() const {
  std::uint64_t n = 1;
  for (std::size_t a = 0; a < rank; ++a) n *= cell[a];
  return n;
}

Axes CellGrid::cell_start(std::uint64_t cell_number) const {
  Axes start{};
  for (std::size_t a = rank; a-- > 0;) {
    const std::uint64_t along = cells_along(a);
    start[a] = cell_number % along * cell[a];
    cell_number /= along;
  }
  return start;
}

BoxOverlap overlap_of(const CellGrid& grid, std::uint64_t cell_number, const Places& box_start, const Axes& box_shape) {
  const bool plain = grid.cells == CellGrid::Cells::kPlain;
  const Axes cell_start = plain ? Axes{} : grid.cell_start(cell_number);
  const Axes& extents = grid.extents();
  BoxOverlap out;
  for (std::size_t a = 0; a < grid.rank; ++a) {
    const std::int64_t start = box_start[a];
    const std::uint64_t begin = std::max(start < 0 ? 0 : static_cast<std::uint64_t>(start), cell_start[a]);
    const auto box_end = static_cast<std::uint64_t>(start + static_cast<std::int64_t>(box_shape[a]));
    const std::uint64_t cell_end = std::min(cell_start[a] + extents[a], grid.shape[a]);
    const std::uint64_t end = std::min(box_end, cell_end);
    out.count[a] = end > begin ? end - begin : 0;
    out.box_begin[a] = static_cast<std::uint64_t>(static_cast<std::int64_t>(begin) - start);
    out.owned_begin[a] = begin == 0 ? 0 : out.box_begin[a];
    const bool has_rest = cell_end == grid.shape[a] && box_end > begin;
    out.owned[a] = (has_rest ? box_shape[a] : out.box_begin[a] + out.count[a]) - out.owned_begin[a];
    out.cell_offset = out.cell_offset * extents[a] + (begin - cell_start[a]);
    out.box_offset = out.box_offset * box_shape[a] + out.box_begin[a];
  }
  return out;
}

std::uint64_t box_hash(std::uint64_t cell_number, std::uint64_t first_from, std::uint64_t last_from,
                       std::uint64_t first_to, std::uint64_t last_to, std::uint64_t run_elements) {
  std::uint64_t h = cell_number * 0x9E3779B97F4A7C15u + 0xD1B54A32D192ED03u;
  for (const std::uint64_t word : {first_from, last_from, first_to, last_to, run_elements}) {
    h = (h ^ word) * 0xC2B2AE3D27D4EB4Fu;
    h ^= h >> 32;
  }
  return h;
}

}  // namespace headrace
