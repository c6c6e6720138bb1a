#include "loader/plan/keep_need.h"

#include <algorithm>

#include "loader/plan/stored_groups.h"

namespace headrace {
namespace {

/// A claim comes up to a quarter of the window ahead of need (RequestWindow), and serves what waits behind it.
constexpr double kSharedPart = 0.75;

KeptUnits count_blocks(const StoredGroup& group) {
  KeptUnits units;
  const BlockForm form(group.rows.fields);
  const std::vector<std::uint64_t>& starts = group.rows.block_starts;
  units.number = group.rows.num_blocks();
  units.dense_bytes = group.need.dense_bytes;
  units.coded_bytes = group.need.coded_bytes;
  for (std::uint64_t b = 0; b < units.number; ++b) {
    const std::uint64_t bytes = PageBuffer::charge_for(form.bytes(starts[b + 1] - starts[b]));
    units.all_bytes += bytes;
    units.largest_bytes = std::max(units.largest_bytes, bytes);
  }
  return units;
}

/// Call `work` with every grid whose cells may be kept, its group, and the bytes of a cell.
template <class Work>
void for_kept_grids(const MappedSource& mapped, Work work) {
  for (const BoxMap::Volume& volume : mapped.boxes->volumes())
    for (std::size_t g = 0; g < mapped.groups.size(); ++g) {
      const CellGrid& grid = volume.grids[g];
      if (!cells_are_decoded(grid, *mapped.groups[g].source->files[volume.file].arrays[0])) continue;
      work(grid, g, grid.cell_elements() * grid.element_bytes);
    }
}

}  // namespace

KeptUnits count_kept_cells(const MappedSource& mapped) {
  KeptUnits units;
  for_kept_grids(mapped, [&](const CellGrid& grid, std::size_t, std::uint64_t bytes) {
    const std::uint64_t charge = PageBuffer::charge_for(bytes);
    units.number += grid.num_cells();
    units.all_bytes += grid.num_cells() * charge;
    units.largest_bytes = std::max(units.largest_bytes, charge);
  });
  return units;
}

KeepNeed keep_need(const SampleSource& source, const EnginePlan& plan) {
  KeepNeed need;
  const bool cells = plan.boxes != nullptr;
  if (cells) need.units = count_kept_cells(*source.mapped());
  if (cells && need.units.number == 0) return need;
  const std::vector<StoredGroup> groups = stored_groups(source, plan.layout, *plan.blocks);
  for (const StoredGroup& group : groups) {
    need.data_bytes += group.rows.data_bytes();
    need.pages_bytes += RowStore::pages_for(group.rows);
    need.dense_bytes += group.need.dense_bytes;
  }
  // Units of the first of several groups are kept one by one, and not where the system keeps what it read as well. Rows
  // are: a loader measures whether that gains anything (KeepPolicy).
  if (!cells && (source.rows() || is_decoded(groups[0].source))) need.units = count_blocks(groups[0]);
  if (source.mapped()) need.units.coded_bytes = 0;  // kept as they are
  return need;
}

double decoded_bytes_of_drawn(const MappedSource& mapped, double waiting, double kept_share) {
  struct Cells {
    double number = 0, bytes = 0;
  };
  std::vector<Cells> groups(mapped.groups.size());
  for_kept_grids(mapped, [&](const CellGrid& grid, std::size_t g, std::uint64_t bytes) {
    groups[g].number += static_cast<double>(grid.num_cells());
    groups[g].bytes += static_cast<double>(grid.num_cells() * bytes);
  });
  double decoded = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].number == 0) continue;
    const double parts = mapped.boxes->mean_parts(g), number = groups[g].number;
    decoded += (1 - kept_share) * parts / (1 + kSharedPart * parts * waiting / number) * groups[g].bytes / number;
  }
  return decoded;
}

}  // namespace headrace
