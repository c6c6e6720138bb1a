#include "dataset/facts/voxel_tiles.h"

#include <headrace/batch.h>

#include <algorithm>

#include "dataset/samples/take_mapped.h"

namespace headrace {
namespace {

constexpr std::uint64_t kTileElements = std::uint64_t{1} << 21;  // of arrays of which any box can be read by itself

/// A chunk of the array; where it has none, some of its last axes whole.
Axes tile_of(const CellGrid& grid) {
  Axes tile = grid.cell;
  if (grid.cells == CellGrid::Cells::kPlain) {
    std::uint64_t elements = 1;
    for (std::size_t a = grid.rank; a-- > 0;) {
      tile[a] = std::clamp<std::uint64_t>(kTileElements / elements, 1, std::max<std::uint64_t>(grid.shape[a], 1));
      elements *= tile[a];
    }
  }
  for (std::size_t a = 0; a < grid.rank; ++a) tile[a] = std::min(tile[a], grid.shape[a]);
  return tile;
}

/// Call `work` with the first element of each row along the last axis of a box of an array, C order.
template <class Work>
void for_rows(std::size_t rank, const Axes& begin, const Axes& end, const Axes& extents, Work work) {
  Axes at = begin;
  for (;;) {
    std::uint64_t offset = 0;
    for (std::size_t a = 0; a < rank; ++a) offset = offset * extents[a] + at[a];
    work(offset);
    std::size_t a = rank - 1;
    while (a > 0 && ++at[a - 1] == end[a - 1]) at[a - 1] = begin[a - 1], --a;
    if (a == 0) return;
  }
}

}  // namespace

Result<VoxelTiles> VoxelTiles::make(const MappedSource& patches, std::size_t group) {
  const BoxMap& map = *patches.boxes;
  const std::size_t rank = map.rank(group);
  BoxMap::Options options;
  std::vector<Axes> shapes;
  for (const BoxMap::Volume& volume : map.volumes()) {
    options.volumes.push_back({volume.file, {volume.grids[group]}});
    shapes.push_back(volume.grids[group].shape);
  }
  options.box = tile_of(options.volumes[0].grids[0]);
  options.starts = std::make_shared<GridStarts>(
      GridStarts::Options{rank, std::move(shapes), options.box, options.box, BoxEdge::kFill});
  const auto tiles = std::make_shared<const BoxMap>(std::move(options));
  VoxelTiles made;
  HEADRACE_ASSIGN(made.tiles_, make_mapped_source(tiles, tiles, {patches.groups[group]}, "tiles"));
  made.has_all_ = map.drawn();
  if (!made.has_all_) made.list_patches(patches, group);
  return made;
}

VoxelTiles::Box VoxelTiles::tile_box(const BoxPlace& place) const {
  const BoxMap& tiles = *tiles_->boxes;
  const CellGrid& grid = tiles.volumes()[place.volume].grids[0];
  Box box{place.start, {}};
  for (std::size_t a = 0; a < grid.rank; ++a) box.end[a] = std::min(place.start[a] + tiles.box()[a], grid.shape[a]);
  return box;
}

void VoxelTiles::list_patches(const MappedSource& patches, std::size_t group) {
  const BoxMap &map = *patches.boxes, &tiles = *tiles_->boxes;
  const BlockTable& samples = *map.shuffle_blocks();
  std::vector<std::uint64_t> first_tiles;  // of each volume
  std::uint64_t tiles_before = 0;
  for (const BoxMap::Volume& volume : tiles.volumes()) {
    first_tiles.push_back(tiles_before);
    std::uint64_t number = 1;
    for (std::size_t a = 0; a < volume.grids[0].rank; ++a)
      number *= (volume.grids[0].shape[a] + tiles.box()[a] - 1) / tiles.box()[a];
    tiles_before += number;
  }
  meeting_.resize(num_tiles());
  for (std::uint64_t i = 0; i < samples.num_rows(); ++i) {
    const BlockTable::RowPlace at = samples.find(i);
    const BoxPlace place = map.place_of(SampleRef{static_cast<std::uint32_t>(at.block), at.row_in_block}, {});
    CellGrid grid = tiles.volumes()[place.volume].grids[0];
    const Places start = map.start_in(group, place);
    Box box;
    Places inside{};
    Axes count{};
    for (std::size_t a = 0; a < grid.rank; ++a) {
      const auto size = static_cast<std::int64_t>(grid.shape[a]);
      const auto end = std::clamp<std::int64_t>(start[a] + static_cast<std::int64_t>(map.box(group)[a]), 0, size);
      inside[a] = std::clamp<std::int64_t>(start[a], 0, size);
      box.begin[a] = static_cast<std::uint64_t>(inside[a]), box.end[a] = static_cast<std::uint64_t>(end);
      count[a] = box.end[a] - box.begin[a];
    }
    if (std::ranges::any_of(std::span(count).first(grid.rank), [](std::uint64_t n) { return n == 0; })) continue;
    const auto number = static_cast<std::uint32_t>(boxes_.size());
    boxes_.push_back(box);
    grid.cell = tiles.box(), grid.cells = CellGrid::Cells::kChunks;  // the tiles of the volume
    grid.for_cells(inside, count,
                   [&](std::uint64_t tile) { meeting_[first_tiles[place.volume] + tile].push_back(number); });
  }
}

Status VoxelTiles::read(std::uint64_t tile, std::vector<std::byte>& values) const {
  if (!has_all_ && meeting_[tile].empty()) return {};
  HEADRACE_ASSIGN(const Batch batch, take_mapped(*tiles_, {&tile, 1}, {}, {}));
  const BoxMap& tiles = *tiles_->boxes;
  const BlockTable::RowPlace at = tiles.shuffle_blocks()->find(tile);
  const BoxPlace place = tiles.place_of(SampleRef{static_cast<std::uint32_t>(at.block), at.row_in_block}, {});
  const std::size_t rank = tiles.rank(0);
  const std::size_t item_bytes = (*tiles_->fields)[0].dtype.itemsize;
  const auto* const stored = batch.array(0).data();
  const Box own = tile_box(place);
  std::uint64_t elements = 1;
  for (std::size_t a = 0; a < rank; ++a) elements *= tiles.box()[a];
  std::vector<bool> wanted(elements, false);
  const auto want = [&](const Box& box) {
    Axes begin{}, end{};  // in the tile
    for (std::size_t a = 0; a < rank; ++a) {
      const std::uint64_t first = std::max(box.begin[a], own.begin[a]), last = std::min(box.end[a], own.end[a]);
      begin[a] = first - own.begin[a], end[a] = last - own.begin[a];
    }
    const std::uint64_t length = end[rank - 1] - begin[rank - 1];
    for_rows(rank, begin, end, tiles.box(), [&](std::uint64_t first) {
      std::fill_n(wanted.begin() + static_cast<std::ptrdiff_t>(first), length, true);
    });
  };
  if (has_all_)
    want(own);
  else
    for (const std::uint32_t patch : meeting_[tile]) want(boxes_[patch]);
  for (std::uint64_t first = 0; first < elements;) {
    if (!wanted[first]) {
      ++first;
      continue;
    }
    std::uint64_t last = first;
    while (last < elements && wanted[last]) ++last;
    values.insert(values.end(), stored + first * item_bytes, stored + last * item_bytes);
    first = last;
  }
  return {};
}

}  // namespace headrace
