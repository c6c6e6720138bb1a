#include "assembly/ahead/unit_locator.h"

#include <algorithm>

namespace headrace {

UnitLocator::UnitLocator(SampleSource source, BlockLayout layout, std::shared_ptr<const BlockTable> blocks)
    : source_(std::move(source)), layout_(std::move(layout)), blocks_(std::move(blocks)) {}

UnitLocator::Place UnitLocator::place_of(std::uint32_t unit) const {
  const MappedSource* const mapped = source_.mapped();
  if (mapped == nullptr) {
    const BlockTable::FileRows rows = blocks_->place(unit);
    return {&source_.rows()->files[rows.file], &layout_.files[rows.file], rows.rows};
  }
  const SampleMap::GroupUnit at = mapped->map->group_of(unit);
  const SourceGroup& group = mapped->groups[at.group];
  if (mapped->boxes) {
    const BoxMap::Cell cell = mapped->boxes->cell_of(at.group, at.unit);
    const BoxMap::Volume& volume = mapped->boxes->volumes()[cell.volume];
    return {&group.source->files[volume.file], nullptr, {}, &volume.grids[at.group], cell.number};
  }
  const BlockTable::FileRows rows = group.layout.table->place(at.unit);
  return {&group.source->files[rows.file], &group.layout.files[rows.file], rows.rows};
}

std::uint32_t UnitLocator::num_units() const {
  const MappedSource* const mapped = source_.mapped();
  return mapped ? mapped->map->num_units() : static_cast<std::uint32_t>(blocks_->num_blocks());
}

std::size_t UnitLocator::num_arrays(std::uint32_t unit) const {
  const Place place = place_of(unit);
  return place.layout == nullptr ? 1 : place.file->arrays.size();
}

Status UnitLocator::check_unchanged(std::uint32_t unit, std::size_t array) const {
  return place_of(unit).file->arrays[array]->check_unchanged();
}

/// Return true if the array is in memory, or on its way there.
bool UnitLocator::is_resident(const Place& place, std::size_t array) {
  return place.layout->roles[array] == ArrayRole::kResident;
}

void UnitLocator::list_beside(std::uint32_t unit, std::vector<FileRange>& out) const {
  const Place place = place_of(unit);
  if (place.layout == nullptr) return;
  for (std::size_t a = 0; a < place.file->arrays.size(); ++a)
    if (!is_resident(place, a)) place.file->arrays[a]->list_beside(place.rows, out);
}

Status UnitLocator::locate(std::uint32_t unit, WantedRows* wanted, std::vector<PieceTask>& out) const {
  const Place place = place_of(unit);
  std::vector<Piece> pieces;
  const auto append = [&](std::size_t array) {
    for (Piece& piece : pieces) out.push_back({static_cast<std::uint32_t>(array), std::move(piece)});
    pieces.clear();
  };
  if (place.layout == nullptr) {
    const ArrayReader& array = *place.file->arrays[0];
    const CellGrid& grid = *place.grid;
    if (grid.cells == CellGrid::Cells::kPlain) return {};
    if (grid.cells == CellGrid::Cells::kChunks) {
      HEADRACE_TRY(array.locate_cells({&place.cell, 1}, pieces));
    } else {
      const std::uint64_t first = grid.cell_start(place.cell)[0];
      HEADRACE_TRY(array.locate({first, std::min(grid.cell[0], grid.shape[0] - first)}, pieces));
    }
    append(0);
    return {};
  }
  for (std::size_t a = 0; a < place.file->arrays.size(); ++a) {
    if (is_resident(place, a)) continue;
    const ArrayReader& array = *place.file->arrays[a];
    if (wanted == nullptr || array.has_chunk_files()) {
      HEADRACE_TRY(array.locate(place.rows, pieces));
    } else {
      HEADRACE_TRY(wanted->locate(array, place.rows, pieces));
      std::erase_if(pieces, [&](const Piece& piece) { return !wanted->has(array, piece, place.rows); });
    }
    append(a);
  }
  return {};
}

}  // namespace headrace
