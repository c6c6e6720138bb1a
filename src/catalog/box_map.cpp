#include "catalog/box_map.h"

#include <algorithm>

#include "catalog/row_digest.h"

namespace headrace {
namespace {

/// Call `work` with the number of every cell that a box touches, in C order.
template <class Work>
void for_cells(const CellGrid& grid, const Axes& start, const Axes& box, Work work) {
  Axes first{}, count{};
  for (std::size_t a = 0; a < grid.rank; ++a) {
    first[a] = start[a] / grid.cell[a];
    count[a] = (start[a] + box[a] - 1) / grid.cell[a] - first[a] + 1;
  }
  Axes at{};
  for (;;) {
    std::uint64_t number = 0;
    for (std::size_t a = 0; a < grid.rank; ++a) number = number * grid.cells_along(a) + first[a] + at[a];
    work(static_cast<std::uint32_t>(number));
    std::size_t a = grid.rank;
    while (a > 0 && ++at[a - 1] == count[a - 1]) at[--a] = 0;
    if (a == 0) return;
  }
}

}  // namespace

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

BoxOverlap overlap_of(const CellGrid& grid, std::uint64_t cell_number, const Axes& box_start, const Axes& box_shape) {
  const Axes cell_start = grid.cell_start(cell_number);
  BoxOverlap out;
  for (std::size_t a = 0; a < grid.rank; ++a) {
    const std::uint64_t begin = std::max(box_start[a], cell_start[a]);
    const std::uint64_t end = std::min(box_start[a] + box_shape[a], cell_start[a] + grid.cell[a]);
    out.count[a] = end > begin ? end - begin : 0;
    out.cell_offset = out.cell_offset * grid.cell[a] + (begin - cell_start[a]);
    out.box_offset = out.box_offset * box_shape[a] + (begin - box_start[a]);
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

BoxMap::BoxMap(Options options)
    : options_(std::move(options)),
      homes_(std::make_shared<const BlockTable>(
          std::vector<BlockTable::FileBlocks>{{options_.starts.size(), options_.home_samples}})) {
  for (const CellGrid& grid : options_.grids) {
    groups_.push_back({static_cast<std::uint32_t>(grid.num_cells()), UnitGroup::Rows::kFixed, 1});
    std::uint64_t& elements = box_elements_.emplace_back(1);
    for (std::size_t a = 0; a < grid.rank; ++a) elements *= options_.box[a];
  }
  homes_of_.resize(num_units());
  std::vector<std::uint32_t> units;
  for (std::uint32_t home = 0; home < homes_->num_blocks(); ++home) {
    units.clear();
    units_of(home, units);
    for (const std::uint32_t unit : units) homes_of_[unit].push_back(home);
  }
}

void BoxMap::expand(std::span<const SampleRef> samples, std::vector<Part>& parts,
                    std::vector<std::uint32_t>& ends) const {
  for (const SampleRef sample : samples) {
    std::uint32_t first_unit = 0;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for_cells(options_.grids[g], start_of(sample), options_.box, [&](std::uint32_t cell) {
        parts.push_back({first_unit + cell, 0, 1, 0});
      });
      first_unit += groups_[g].num_units;
    }
    ends.push_back(static_cast<std::uint32_t>(parts.size()));
  }
}

void BoxMap::units_of(std::uint32_t home, std::vector<std::uint32_t>& out) const {
  const std::size_t before = out.size();
  std::vector<SampleRef> samples;
  for (std::uint32_t row = 0; row < homes_->block_rows(home); ++row) samples.push_back({home, row});
  std::vector<Part> parts;
  std::vector<std::uint32_t> ends;
  expand(samples, parts, ends);
  for (const Part& part : parts) out.push_back(part.unit);
  const auto begin = out.begin() + static_cast<std::ptrdiff_t>(before);
  std::sort(begin, out.end());
  out.erase(std::unique(begin, out.end()), out.end());
}

void BoxMap::homes_of(std::uint32_t unit, std::vector<std::uint32_t>& out) const {
  out.insert(out.end(), homes_of_[unit].begin(), homes_of_[unit].end());
}

std::uint64_t BoxMap::part_hash(SampleRef sample, const Part& part, std::uint64_t place) const {
  const GroupUnit at = group_of(part.unit);
  const CellGrid& grid = options_.grids[at.group];
  const BoxOverlap o = overlap_of(grid, at.unit, start_of(sample), options_.box);
  std::uint64_t last_from = o.cell_offset, last_to = o.box_offset, cell_stride = 1, box_stride = 1;
  for (std::size_t a = grid.rank; a-- > 0;) {
    if (a + 1 < grid.rank) {
      last_from += (o.count[a] - 1) * cell_stride;
      last_to += (o.count[a] - 1) * box_stride;
    }
    cell_stride *= grid.cell[a];
    box_stride *= options_.box[a];
  }
  const std::uint64_t base = place * box_elements_[at.group];
  return box_hash(at.unit, o.cell_offset, last_from, base + o.box_offset, base + last_to, o.count[grid.rank - 1]) *
         field_weight(0);
}

}  // namespace headrace
