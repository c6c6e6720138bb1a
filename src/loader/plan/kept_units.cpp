#include "loader/plan/kept_units.h"

#include <algorithm>

#include "assembly/servers/block_server.h"

namespace headrace {
namespace {

/// A claim comes up to a quarter of the window ahead of need (RequestWindow), and serves what waits behind it.
constexpr double kSharedPart = 0.75;

KeptUnits count_rows(const SourceGroup& rows) {
  KeptUnits units;
  if (!is_decoded(*rows.source)) return units;
  const BlockForm form(*rows.source->columns);
  const BlockTable& table = *rows.layout.table;
  units.number = table.num_blocks();
  units.dense_bytes = BlockServer::need(*rows.source, rows.layout).dense_bytes;
  for (std::uint64_t u = 0; u < units.number; ++u) {
    const std::uint64_t bytes = PageBuffer::charge_for(form.bytes(table.place(u).rows.count));
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

KeptUnits count_kept_units(const MappedSource& mapped) {
  if (!mapped.boxes) return count_rows(mapped.groups[0]);
  KeptUnits units;
  for_kept_grids(mapped, [&](const CellGrid& grid, std::size_t, std::uint64_t bytes) {
    const std::uint64_t charge = PageBuffer::charge_for(bytes);
    units.number += grid.num_cells();
    units.all_bytes += grid.num_cells() * charge;
    units.largest_bytes = std::max(units.largest_bytes, charge);
  });
  return units;
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
