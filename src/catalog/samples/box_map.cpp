#include "catalog/samples/box_map.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "catalog/row_digest.h"
#include "catalog/samples/visit_starts.h"

namespace headrace {
namespace {

std::shared_ptr<const BlockTable> blocks_of_starts(const BoxMap::Options& options) {
  std::vector<std::uint64_t> sizes = options.starts->volume_ends();
  std::adjacent_difference(sizes.begin(), sizes.end(), sizes.begin());
  if (sizes.empty()) sizes.push_back(options.starts->num_samples());
  if (std::vector<std::uint64_t> ends = options.starts->block_ends(); !ends.empty())
    return std::make_shared<const BlockTable>(std::vector<BlockTable::FileBlocks>{{sizes[0], 1, std::move(ends)}},
                                              options.chosen);
  std::vector<BlockTable::FileBlocks> blocks;
  for (const std::uint64_t samples : sizes) blocks.push_back({samples, options.block_samples});
  return std::make_shared<const BlockTable>(blocks, options.chosen);
}

/// Cells that a box at any place has parts in, on average.
double cells_of_box(const CellGrid& grid, const Axes& box) {
  if (grid.cells == CellGrid::Cells::kPlain) return 1;
  double cells = 1;
  for (std::size_t a = 0; a < grid.rank; ++a)
    cells *= std::min(1 + static_cast<double>(box[a] - 1) / static_cast<double>(grid.cell[a]),
                      static_cast<double>(grid.cells_along(a)));
  return cells;
}

}  // namespace

BoxMap::BoxMap(Options options)
    : options_(std::move(options)),
      drawn_(options_.starts->volume_ends().empty()),
      blocks_(blocks_of_starts(options_)) {
  for (std::size_t g = 0; g < options_.volumes[0].grids.size(); ++g) {
    std::vector<std::uint64_t>& first = first_cells_.emplace_back(1, 0);
    double most = 0;
    for (const Volume& volume : options_.volumes) {
      first.push_back(first.back() + volume.grids[g].num_cells());
      most = std::max(most, cells_of_box(volume.grids[g], box(g)));
    }
    mean_parts_.push_back(most);
    groups_.push_back({static_cast<std::uint32_t>(first.back()), UnitGroup::Rows::kFixed, 1});
    std::uint64_t& elements = box_elements_.emplace_back(1);
    for (std::size_t a = 0; a < rank(g); ++a) elements *= box(g)[a];
  }
  for (const std::uint64_t end : options_.starts->volume_ends()) first_samples_.push_back(end);
}

std::uint64_t BoxMap::usual_parts() const {
  return static_cast<std::uint64_t>(std::ceil(std::accumulate(mean_parts_.begin(), mean_parts_.end(), 0.0)));
}

std::uint64_t BoxMap::memory_bytes() const {
  std::uint64_t bytes = options_.starts->memory_bytes();
  for (const Volume& volume : options_.volumes) bytes += sizeof(Volume) + volume.grids.capacity() * sizeof(CellGrid);
  return bytes + first_cells_.size() * options_.volumes.size() * sizeof(std::uint64_t);
}

double BoxMap::visit_amplification_of(std::size_t group) const {
  const CellGrid& grid = options_.volumes[0].grids[group];
  if (visits() == nullptr || grid.cells == CellGrid::Cells::kPlain) return 1;
  VisitShape visit = visits()->visit();
  visit.rank = grid.rank;
  Axes chunk{};
  for (std::size_t a = 0; a < grid.rank; ++a) chunk[a] = std::min(grid.cell[a], grid.shape[a]);
  if (const VoxelScale* const scale = scale_of(group, 0))
    for (std::size_t a = 0; a < grid.rank; ++a)
      visit.cell[a] = std::max<std::uint64_t>(
          static_cast<std::uint64_t>(std::llround(static_cast<double>(visit.cell[a]) / scale->size[a])), 1);
  return visit_amplification(visit, box(group), chunk);
}

BoxMap::Cell BoxMap::cell_of(std::size_t group, std::uint64_t unit) const {
  const std::vector<std::uint64_t>& first = first_cells_[group];
  const auto volume = static_cast<std::size_t>(std::ranges::upper_bound(first, unit) - first.begin()) - 1;
  return {static_cast<std::uint32_t>(volume), unit - first[volume]};
}

const VoxelScale* BoxMap::scale_of(std::size_t group, std::size_t volume) const {
  const auto& scales = options_.volumes[volume].scales;
  return scales.empty() || !scales[group] ? nullptr : &*scales[group];
}

Places BoxMap::start_in(std::size_t group, const BoxPlace& place) const {
  const Volume& volume = options_.volumes[place.volume];
  const VoxelScale* const scale = scale_of(group, place.volume);
  Places start{};
  for (std::size_t a = 0; a < volume.grids[group].rank; ++a) {
    const std::uint64_t offset = volume.offsets.empty() ? 0 : volume.offsets[group][a];
    start[a] = scale ? scale->start_of(a, place.start[a], options_.box[a], box(group)[a], volume.grids[group].shape[a])
                     : static_cast<std::int64_t>(place.start[a] + offset);
  }
  return start;
}

void BoxMap::units_of_box(const BoxPlace& place, std::vector<std::uint32_t>& units) const {
  std::uint64_t first_unit = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const std::uint64_t first = first_unit + first_cells_[g][place.volume];
    options_.volumes[place.volume].grids[g].for_cells(start_in(g, place), box(g), [&](std::uint64_t cell) {
      units.push_back(static_cast<std::uint32_t>(first + cell));
    });
    first_unit += groups_[g].num_units;
  }
}

void BoxMap::expand(std::span<const SampleRef> samples, EpochSeed draws, std::vector<Part>& parts,
                    std::vector<std::uint32_t>& ends) const {
  std::vector<std::uint32_t> units;
  for (const SampleRef sample : samples) {
    const std::uint64_t box = options_.starts->box_of(number_of(sample), draws);
    units.clear();
    units_of_box(options_.starts->place_of(box), units);
    for (const std::uint32_t unit : units) parts.push_back({unit, 0, 1, box});
    ends.push_back(static_cast<std::uint32_t>(parts.size()));
  }
}

/// Tells of all samples of the shuffle block, chosen or not: blocks_of() does not know either.
void BoxMap::units_of(std::uint32_t block, EpochSeed draws, std::vector<std::uint32_t>& out) const {
  if (block_units() == BlockUnits::kUnknown) return;
  const auto before = static_cast<std::ptrdiff_t>(out.size());
  const std::uint64_t first = blocks_->stored_rows(block).first;
  for (std::uint64_t i = first; i < first + blocks_->stored_rows(block).count; ++i)
    units_of_box(options_.starts->place_of(options_.starts->box_of(i, draws)), out);
  std::sort(out.begin() + before, out.end());
  out.erase(std::unique(out.begin() + before, out.end()), out.end());
}

/// Appends the samples of a volume that have a part in a cell of it.
void BoxMap::meeting_of(std::size_t group, const Cell& cell, std::vector<std::uint64_t>& samples) const {
  const CellGrid& grid = options_.volumes[cell.volume].grids[group];
  constexpr std::uint64_t kNoEnd = ~std::uint64_t{0};
  Axes begin = grid.cell_start(cell.number), end, reach;
  end.fill(kNoEnd), reach.fill(1);
  for (std::size_t a = 0; a < grid.rank; ++a) {
    // Past the array's end the last cells have what lies there.
    end[a] = begin[a] + grid.cell[a] >= grid.shape[a] ? kNoEnd : begin[a] + grid.cell[a];
    if (grid.cells != CellGrid::Cells::kPlain) reach[a] = options_.box[a];
  }
  if (const VoxelScale* const scale = scale_of(group, cell.volume)) {
    // A box begins in the array where its centre says. All that may begin near enough are looked at one by one.
    Axes index{};
    for (std::size_t a = 0; a < grid.rank; ++a) {
      index[a] = begin[a] / grid.cell[a];
      const double half = static_cast<double>(options_.box[a]) / 2, margin = static_cast<double>(box(group)[a]) / 2 + 1;
      const auto start_at = [&](double element) { return element * scale->size[a] + scale->begin[a] - half; };
      const double least = start_at(static_cast<double>(begin[a]) - margin);
      const double most = start_at(static_cast<double>(begin[a] + grid.cell[a]) + margin);
      begin[a] = begin[a] == 0 ? 0 : static_cast<std::uint64_t>(std::fmax(least, 0));
      if (end[a] != kNoEnd) end[a] = static_cast<std::uint64_t>(std::fmax(most, 0)) + 1;
      reach[a] = 1;
    }
    const auto before = static_cast<std::ptrdiff_t>(samples.size());
    options_.starts->meeting(cell.volume, begin, end, reach, samples);
    const auto has_none = [&](std::uint64_t sample) {
      const Places start = start_in(group, options_.starts->place_of(options_.starts->box_of(sample, {})));
      for (std::size_t a = 0; a < grid.rank; ++a) {
        const CellGrid::Along along = grid.cells_of(a, start[a], box(group)[a]);
        if (index[a] < along.first || index[a] - along.first >= along.count) return true;
      }
      return false;
    };
    samples.erase(std::remove_if(samples.begin() + before, samples.end(), has_none), samples.end());
    return;
  }
  if (const std::vector<Axes>& offsets = options_.volumes[cell.volume].offsets; !offsets.empty())
    for (std::size_t a = 0; a < grid.rank; ++a) {
      const std::uint64_t offset = offsets[group][a];
      if (end[a] <= offset) return;
      begin[a] -= std::min(begin[a], offset);
      if (end[a] != kNoEnd) end[a] -= offset;
    }
  options_.starts->meeting(cell.volume, begin, end, reach, samples);
}

void BoxMap::blocks_of(std::uint32_t unit, std::vector<std::uint32_t>& out) const {
  if (drawn_) return;
  const GroupUnit at = group_of(unit);
  const Cell cell = cell_of(at.group, at.unit);
  std::vector<std::uint64_t> samples;
  meeting_of(at.group, cell, samples);
  const auto before = static_cast<std::ptrdiff_t>(out.size());
  const std::uint64_t first = first_samples_[cell.volume], end_of_volume = first_samples_[cell.volume + 1];
  std::uint64_t seen = 0;  // samples before it lie in shuffle blocks that were looked at, where they ascend
  for (const std::uint64_t sample : samples) {
    if (sample < seen) continue;
    const std::uint64_t block_first = sample - (sample - first) % options_.block_samples;
    seen = std::min(block_first + options_.block_samples, end_of_volume);
    const RowSet* const chosen = options_.chosen.get();
    const std::uint64_t own = chosen ? chosen->count_below(block_first) : block_first;
    if (chosen && own == chosen->count_below(seen)) continue;
    out.push_back(static_cast<std::uint32_t>(blocks_->find(own).block));
  }
  std::sort(out.begin() + before, out.end());
  out.erase(std::unique(out.begin() + before, out.end()), out.end());
}

std::uint64_t BoxMap::last_meeting(SampleRef sample) const {
  const BoxPlace at = place_of(sample, {});
  Axes end = at.start;
  for (std::size_t a = 0; a < kMostVolumeAxes; ++a) end[a] += options_.box[a];
  std::vector<std::uint64_t> samples;
  options_.starts->meeting(at.volume, at.start, end, options_.box, samples);
  return samples.back();
}

std::uint64_t BoxMap::part_hash(SampleRef, const Part& part, std::uint64_t place) const {
  const GroupUnit at = group_of(part.unit);
  const Cell cell = cell_of(at.group, at.unit);
  const BoxPlace box = place_of(part);
  const CellGrid& grid = options_.volumes[cell.volume].grids[at.group];
  const Axes& shape = this->box(at.group);
  const BoxOverlap o = overlap_of(grid, cell.number, start_in(at.group, box), shape);
  std::uint64_t last_from = o.cell_offset, last_to = o.box_offset, cell_stride = 1, box_stride = 1;
  for (std::size_t a = grid.rank; a-- > 0;) {
    if (a + 1 < grid.rank) {
      last_from += (o.count[a] - 1) * cell_stride;
      last_to += (o.count[a] - 1) * box_stride;
    }
    cell_stride *= grid.extents()[a];
    box_stride *= shape[a];
  }
  const std::uint64_t base = place * box_elements_[at.group];
  return box_hash(at.unit, o.cell_offset, last_from, base + o.box_offset, base + last_to, o.count[grid.rank - 1]) *
         field_weight(0);
}

}  // namespace headrace
