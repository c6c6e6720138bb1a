#include "catalog/samples/box_map.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <set>
#include <tuple>

namespace headrace {
namespace {

using Axis = std::vector<std::uint64_t>;

/// Where boxes begin along one axis, one by one.
Axis starts_along(std::uint64_t size, std::uint64_t box, std::uint64_t stride, BoxEdge edge) {
  Axis starts;
  std::uint64_t at = 0;
  for (; at + box <= size; at += stride) starts.push_back(at);
  const std::uint64_t reached = starts.empty() ? 0 : starts.back() + box;
  if (reached >= size) return starts;
  if (edge == BoxEdge::kShift && size >= box) starts.push_back(size - box);
  if (edge == BoxEdge::kFill && at < size) starts.push_back(at);
  return starts;
}

std::uint64_t some(std::uint64_t least, std::uint64_t most) {
  return *rc::gen::inRange(least, most + 1);
}

/// Volumes of two arrays at random, and boxes of them on a grid.
struct Case {
  std::size_t rank = some(1, 3);
  GridStarts::Options grid{rank, {}, {}, {}, BoxEdge::kShift};
  BoxMap::Options map;
  std::vector<std::pair<std::uint32_t, Axes>> places;  // of all samples, in order

  explicit Case(BoxEdge edge) {
    const bool scaled = edge != BoxEdge::kFill && some(0, 1) == 1;
    grid.edge = edge;
    grid.box.fill(1), grid.stride.fill(1);
    for (std::size_t a = 0; a < rank; ++a) grid.box[a] = some(1, 7), grid.stride[a] = some(1, 9);
    const std::uint64_t volumes = some(1, 3);
    for (std::uint32_t v = 0; v < volumes; ++v) {
      BoxMap::Volume volume{v, {}};
      for (int array = 0; array < 2; ++array) volume.grids.push_back(some_grid());
      for (std::size_t a = 0; a < rank; ++a) {
        const std::uint64_t least = edge == BoxEdge::kFill ? 1 : grid.box[a], size = some(least, grid.box[a] + 12);
        for (CellGrid& one : volume.grids) one.shape[a] = size;
      }
      if (scaled) add_context(volume);
      grid.shapes.push_back(volume.grids[0].shape);
      add_places(v, volume.grids[0].shape);
      map.volumes.push_back(std::move(volume));
    }
    map.box = grid.box;
    if (scaled) {
      map.boxes.assign(2, grid.box);
      for (Axes& box : map.boxes)
        for (std::size_t a = 0; a < rank; ++a)
          if (&box != map.boxes.data()) box[a] = some(1, 9);
    }
    map.starts = std::make_shared<GridStarts>(grid);
    map.block_samples = some(1, 6);
    if (some(0, 1) == 1) choose();
  }

 private:
  CellGrid some_grid() const {
    CellGrid made{rank, {}, {}, 1, some(0, 3) == 0 ? CellGrid::Cells::kPlain : CellGrid::Cells::kChunks};
    made.shape.fill(1), made.cell.fill(1);
    for (std::size_t a = 0; a < rank; ++a) made.cell[a] = some(1, 8);
    return made;
  }
  /// The second array has other voxels, and begins and ends within one of them from where the volume does.
  void add_context(BoxMap::Volume& volume) const {
    volume.scales.resize(2);
    VoxelScale& scale = volume.scales[1].emplace();
    volume.offsets.resize(2);
    for (std::size_t a = 0; a < rank; ++a) {
      scale.size[a] = static_cast<double>(some(1, 9)) / 2;
      scale.begin[a] = scale.size[a] * (static_cast<double>(some(0, 8)) / 4 - 1);
      const double end = static_cast<double>(volume.grids[0].shape[a]) - scale.begin[a];
      volume.grids[1].shape[a] =
          std::max<std::uint64_t>(static_cast<std::uint64_t>(end / scale.size[a]) + some(0, 1), 1);
    }
  }
  void add_places(std::uint32_t volume, const Axes& shape) {
    std::vector<Axes> all{{}};
    for (std::size_t a = 0; a < rank; ++a) {
      std::vector<Axes> longer;
      for (const Axes& start : all)
        for (const std::uint64_t at : starts_along(shape[a], grid.box[a], grid.stride[a], grid.edge)) {
          longer.push_back(start);
          longer.back()[a] = at;
        }
      all = std::move(longer);
    }
    for (const Axes& start : all) places.emplace_back(volume, start);
  }
  void choose() {
    std::vector<std::uint64_t> rows;
    for (std::uint64_t i = 0; i < places.size(); ++i)
      if (some(0, 2) > 0) rows.push_back(i);
    if (!rows.empty()) map.chosen = std::make_shared<const RowSet>(places.size(), rows);
  }
};

/// Every element of a sample's boxes comes from one part, where the volume has it; the rest is one part's to fill.
void expect_parts_make_the_box(const BoxMap& map, SampleRef sample, const BoxPlace& place) {
  std::vector<Part> parts;
  std::vector<std::uint32_t> ends;
  map.expand({&sample, 1}, {}, parts, ends);
  std::vector<std::map<std::uint64_t, int>> copied(map.groups().size()), filled(map.groups().size());
  for (const Part& part : parts) {
    const SampleMap::GroupUnit at = map.group_of(part.unit);
    const BoxMap::Cell cell = map.cell_of(at.group, at.unit);
    RC_ASSERT(cell.volume == place.volume);
    const CellGrid& grid = map.volumes()[cell.volume].grids[at.group];
    const BoxPlace box = map.place_of(part);
    RC_ASSERT(box.start == place.start);
    const Places start = map.start_in(at.group, box);
    if (map.volumes()[cell.volume].scales.empty())
      for (std::size_t a = 0; a < grid.rank; ++a) RC_ASSERT(start[a] == static_cast<std::int64_t>(place.start[a]));
    const BoxOverlap o = overlap_of(grid, cell.number, start, map.box(at.group));
    const Axes cell_start = grid.cells == CellGrid::Cells::kPlain ? Axes{} : grid.cell_start(cell.number);
    std::uint64_t elements = 1;
    for (std::size_t a = 0; a < grid.rank; ++a) elements *= o.owned[a];
    for (std::uint64_t e = 0; e < elements; ++e) {
      std::uint64_t left = e, in_box = 0, scale = 1;
      bool inside = true;
      for (std::size_t a = grid.rank; a-- > 0;) {
        const std::uint64_t along = o.owned_begin[a] + left % o.owned[a];
        const std::int64_t in_array = start[a] + static_cast<std::int64_t>(along);
        const bool is_copied = along >= o.box_begin[a] && along < o.box_begin[a] + o.count[a];
        inside = inside && is_copied;
        if (is_copied) {
          RC_ASSERT(in_array >= 0);
          const auto element = static_cast<std::uint64_t>(in_array);
          RC_ASSERT(element < grid.shape[a] && element >= cell_start[a]);
          RC_ASSERT(element - cell_start[a] < grid.extents()[a]);
        } else {
          RC_ASSERT(in_array < 0 || in_array >= static_cast<std::int64_t>(grid.shape[a]));
        }
        in_box += along * scale;
        scale *= map.box(at.group)[a];
        left /= o.owned[a];
      }
      ++(inside ? copied : filled)[at.group][in_box];
    }
  }
  for (std::size_t g = 0; g < copied.size(); ++g) {
    RC_ASSERT(copied[g].size() + filled[g].size() == map.box_elements(g));
    for (const auto* const counts : {&copied[g], &filled[g]})
      for (const auto& [element, times] : *counts) RC_ASSERT(times == 1);
  }
}

void check(BoxEdge edge) {
  const Case c(edge);
  RC_PRE(!c.places.empty());
  const BoxMap map(c.map);
  RC_ASSERT(c.map.starts->num_samples() == c.places.size());
  const BlockTable& blocks = *map.shuffle_blocks();
  std::set<std::pair<std::uint32_t, std::uint32_t>> by_block, by_unit;
  std::vector<std::uint32_t> named;
  std::uint64_t number = 0;
  for (std::uint32_t block = 0; block < blocks.num_blocks(); ++block) {
    named.clear();
    map.units_of(block, {}, named);
    for (const std::uint32_t unit : named) RC_ASSERT(by_block.emplace(block, unit).second);
    for (std::uint32_t row = 0; row < blocks.block_rows(block); ++row, ++number) {
      const SampleRef sample{block, row};
      const std::uint64_t stored = c.map.chosen ? (*c.map.chosen)[number] : number;
      RC_ASSERT(map.number_of(sample) == stored);
      const BoxPlace place = map.place_of(sample, {});
      RC_ASSERT(std::tie(place.volume, place.start) == std::tie(c.places[stored].first, c.places[stored].second));
      expect_parts_make_the_box(map, sample, place);
      std::uint64_t last = stored;
      for (std::uint64_t other = stored; other < c.places.size(); ++other) {
        bool meets = c.places[other].first == place.volume;
        for (std::size_t a = 0; a < c.rank; ++a)
          meets = meets && c.places[other].second[a] < place.start[a] + c.grid.box[a] &&
                  place.start[a] < c.places[other].second[a] + c.grid.box[a];
        if (meets) last = other;
      }
      RC_ASSERT(map.last_meeting(sample) == last);
    }
  }
  for (std::uint32_t unit = 0; unit < map.num_units(); ++unit) {
    named.clear();
    map.blocks_of(unit, named);
    for (const std::uint32_t block : named) RC_ASSERT(by_unit.emplace(block, unit).second);
  }
  RC_ASSERT(by_block == by_unit);
}

TEST(BoxMap, AGridIsWhatALoopOverItsPlacesSays) {
  for (const BoxEdge edge : {BoxEdge::kShift, BoxEdge::kDrop, BoxEdge::kFill})
    EXPECT_TRUE(rc::check([&] { check(edge); }));
}

TEST(BoxMap, DrawnBoxesLieInTheirVolumesAndFollowFromSeedEpochAndNumber) {
  const std::vector<Axes> shapes{{9, 8, 7, 1, 1}, {5, 5, 5, 1, 1}};
  const Axes shape{5, 4, 2, 1, 1};
  const DrawnStarts starts(3, shapes, shape, 5000);
  EXPECT_TRUE(starts.volume_ends().empty());
  std::map<std::uint64_t, int> times;
  constexpr std::uint64_t kPlaces = 5 * 5 * 6 + 1 * 2 * 4;
  for (std::uint64_t i = 0; i < starts.num_samples(); ++i) {
    const std::uint64_t box = starts.box_of(i, {3, 1});
    ASSERT_LT(box, kPlaces);
    EXPECT_EQ(box, starts.box_of(i, {3, 1}));
    ++times[box];
  }
  EXPECT_EQ(times.size(), kPlaces);
  std::set<std::pair<std::uint32_t, Axes>> places;
  for (std::uint64_t box = 0; box < kPlaces; ++box) {
    const BoxPlace place = starts.place_of(box);
    for (std::size_t a = 0; a < 3; ++a) EXPECT_LE(place.start[a] + shape[a], shapes[place.volume][a]);
    EXPECT_TRUE(places.emplace(place.volume, place.start).second);
  }
  std::uint64_t same_epoch = 0, same_seed = 0;
  for (std::uint64_t i = 0; i < starts.num_samples(); ++i) {
    same_epoch += starts.box_of(i, {3, 1}) == starts.box_of(i, {4, 1});
    same_seed += starts.box_of(i, {3, 1}) == starts.box_of(i, {3, 2});
  }
  EXPECT_LT(same_epoch, 100u);
  EXPECT_LT(same_seed, 100u);
}

}  // namespace
}  // namespace headrace
