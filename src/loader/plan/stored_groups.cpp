#include "loader/plan/stored_groups.h"

#include <algorithm>
#include <numeric>

namespace headrace {
namespace {

StoredGroup group_of_rows(const Source& source, const BlockLayout& layout, const BlockTable& blocks) {
  RowLayout rows{*source.columns, {}};
  rows.block_starts.reserve(blocks.num_blocks() + 1);
  std::uint64_t row = 0;
  for (std::uint64_t b = 0; b < blocks.num_blocks(); ++b) {
    rows.block_starts.push_back(row);
    row += blocks.place(b).rows.count;
  }
  rows.block_starts.push_back(row);
  return {source, std::move(rows), BlockServer::need(source, layout)};
}

/// Rows are as long as the largest cell that has anything to decode.
StoredGroup group_of_cells(const MappedSource& mapped, std::size_t group) {
  const Source& source = *mapped.groups[group].source;
  StoredColumn column = (*source.columns)[0];
  std::uint64_t most_bytes = column.dtype.itemsize;
  for (const BoxMap::Volume& volume : mapped.boxes->volumes()) {
    const CellGrid& grid = volume.grids[group];
    if (cells_are_decoded(grid, *source.files[volume.file].arrays[0]))
      most_bytes = std::max(most_bytes, grid.cell_elements() * grid.element_bytes);
  }
  column.shape = {(most_bytes + column.dtype.itemsize - 1) / column.dtype.itemsize};
  RowLayout rows{{std::move(column)}, {}};
  rows.block_starts.resize(mapped.map->groups()[group].num_units + std::size_t{1});
  std::iota(rows.block_starts.begin(), rows.block_starts.end(), std::uint64_t{0});
  return {source, std::move(rows), {.dense_bytes = PageBuffer::charge_for(most_bytes)}};
}

}  // namespace

std::vector<StoredGroup> stored_groups(const SampleSource& source, const BlockLayout& layout,
                                       const BlockTable& blocks) {
  std::vector<StoredGroup> groups;
  const MappedSource* const mapped = source.mapped();
  if (!mapped) {
    groups.push_back(group_of_rows(*source.rows(), layout, blocks));
    return groups;
  }
  for (std::size_t g = 0; g < mapped->groups.size(); ++g) {
    const SourceGroup& group = mapped->groups[g];
    groups.push_back(mapped->boxes ? group_of_cells(*mapped, g)
                                   : group_of_rows(*group.source, group.layout, *group.layout.table));
  }
  return groups;
}

}  // namespace headrace
