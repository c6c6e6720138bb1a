#include "catalog/samples/even_visits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "catalog/samples/box_map.h"

namespace headrace {
namespace {

Axes three(std::uint64_t z, std::uint64_t y, std::uint64_t x) {
  return {z, y, x, 1, 1};
}

VisitStarts::Options uneven_volumes() {
  return {{three(9, 7, 11), three(5, 6, 5), three(14, 4, 4)}, three(3, 2, 4), {3, three(2, 2, 3), three(4, 3, 6)}, 75};
}

/// Volumes so small that a visit takes one box of a cell along some axes.
VisitStarts::Options tiny_volumes() {
  return {{three(30, 30, 30), three(9, 30, 9), three(8, 8, 8), three(8, 9, 40)},
          three(8, 8, 8),
          {3, three(2, 2, 2), three(8, 8, 8)},
          101};
}

using Start = std::pair<std::uint32_t, Axes>;

/// The law, enumerated: every number of the line, every offset and every box of a visit.
void expect_exact_law(const EvenVisits& starts, const VisitStarts::Options& options) {
  std::map<std::pair<std::uint32_t, std::pair<Axes, Axes>>, std::uint64_t> cells;
  for (std::uint64_t u = 0; u < starts.num_starts(); ++u) {
    const EvenVisits::Cell cell = starts.cell_at(u);
    ++cells[{cell.volume, {cell.first, cell.count}}];
  }
  std::uint64_t all = 0;
  for (const auto& [key, numbers] : cells) {
    const auto& [volume, place] = key;
    const auto& [first, count] = place;
    ASSERT_EQ(numbers, count[0] * count[1] * count[2]) << "a cell has as many numbers as starts";
    all += numbers;
    Axes boxes{};
    for (std::size_t a = 0; a < 3; ++a) {
      const std::uint64_t n = options.shapes[volume][a] - options.box[a] + 1;
      boxes[a] = n < options.visit.boxes[a] * options.box[a] / 4 ? 1 : options.visit.boxes[a];
    }
    for (std::size_t a = 0; a < 3; ++a) {  // axes are independent: each start of an axis comes equally often
      std::vector<std::uint64_t> hits(count[a]);
      for (std::uint64_t o = 0; o < count[a]; ++o)
        for (std::uint64_t i = 0; i < boxes[a]; ++i) ++hits[(o + i * count[a]) / boxes[a]];
      for (const std::uint64_t h : hits) ASSERT_EQ(h, boxes[a]);
    }
  }
  EXPECT_EQ(all, starts.num_starts());
}

TEST(EvenVisits, EveryStartHasItsShareExactly) {
  expect_exact_law(EvenVisits(uneven_volumes()), uneven_volumes());
  expect_exact_law(EvenVisits(tiny_volumes()), tiny_volumes());
}

TEST(EvenVisits, CellsPartTheStarts) {
  for (const auto& options : {uneven_volumes(), tiny_volumes()}) {
    const EvenVisits starts(options);
    std::set<Start> seen;
    std::set<std::pair<std::uint32_t, Axes>> cells;
    for (std::uint64_t u = 0; u < starts.num_starts(); ++u) {
      const EvenVisits::Cell cell = starts.cell_at(u);
      if (!cells.emplace(cell.volume, cell.first).second) continue;
      for (std::uint64_t z = 0; z < cell.count[0]; ++z)
        for (std::uint64_t y = 0; y < cell.count[1]; ++y)
          for (std::uint64_t x = 0; x < cell.count[2]; ++x)
            EXPECT_TRUE(
                seen.emplace(cell.volume, Axes{cell.first[0] + z, cell.first[1] + y, cell.first[2] + x}).second);
    }
    EXPECT_EQ(seen.size(), starts.num_starts());
  }
}

/// chi^2 over its degrees of freedom, of one sample of many epochs against equal shares.
double chi2(const EvenVisits& starts, std::uint64_t sample, std::uint64_t epochs, std::uint64_t seed) {
  std::vector<double> hits(starts.num_starts());
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) ++hits[starts.box_of(sample, {epoch, seed})];
  const double expected = static_cast<double>(epochs) / static_cast<double>(hits.size());
  double sum = 0;
  for (const double h : hits) sum += (h - expected) * (h - expected) / expected;
  return sum / static_cast<double>(hits.size() - 1);
}

TEST(EvenVisits, EverySampleOfAnEpochFollowsTheLaw) {
  for (const auto& options : {uneven_volumes(), tiny_volumes()}) {
    const EvenVisits starts(options);
    const double sd = std::sqrt(2.0 / static_cast<double>(starts.num_starts() - 1));
    for (const std::uint64_t sample : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{17}, options.samples - 1})
      EXPECT_NEAR(chi2(starts, sample, 60'000, 5), 1, 5 * sd) << sample;
  }
}

TEST(EvenVisits, SamplesOfAVisitAreDifferentBoxesOfOneCell) {
  const VisitStarts::Options options{
      {three(300, 300, 300)}, three(64, 64, 64), {3, three(2, 2, 2), three(96, 96, 96)}, 1000};
  const EvenVisits starts(options);
  EXPECT_EQ(starts.num_visits() % 2, 1u);
  const std::vector<std::uint64_t> ends = starts.block_ends();
  EXPECT_EQ(ends.back(), 1000u);
  std::uint64_t begin = 0;
  for (const std::uint64_t end : ends) {
    EXPECT_GE(end - begin, 7u);
    EXPECT_LE(end - begin, 8u);
    std::set<Axes> places;
    Axes least = three(~0ULL, ~0ULL, ~0ULL), most{};
    for (std::uint64_t i = begin; i < end; ++i) {
      const BoxPlace at = starts.place_of(starts.box_of(i, {3, 9}));
      places.insert(at.start);
      for (std::size_t a = 0; a < 3; ++a) {
        EXPECT_LE(at.start[a] + 64, 300u);
        least[a] = std::min(least[a], at.start[a]), most[a] = std::max(most[a], at.start[a]);
      }
    }
    EXPECT_EQ(places.size(), end - begin);
    for (std::size_t a = 0; a < 3; ++a) EXPECT_LT(most[a] - least[a], 144u) << "the last cell takes the rest";
    begin = end;
  }
}

TEST(EvenVisits, MoreSamplesThanStarts) {
  const EvenVisits starts({{three(4, 4, 4)}, three(4, 4, 4), {3, three(2, 2, 2), three(4, 4, 4)}, 100});
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(starts.place_of(starts.box_of(i, {0, 1})).start, Axes{});
  const EvenVisits one({{three(9, 9, 9)}, three(4, 4, 4), {3, three(2, 2, 2), three(4, 4, 4)}, 1});
  EXPECT_EQ(one.num_visits(), 1u);
}

/// The shapes that a simulation by another program found.
TEST(VisitShape, OfCubes) {
  const auto shape = [](std::uint64_t box, std::uint64_t chunk) {
    const VisitShape made = visit_shape(3, three(box, box, box), three(chunk, chunk, chunk), 10'000);
    EXPECT_EQ(made.boxes[0], made.boxes[2]);
    return std::pair(made.boxes[0], made.cell[0]);
  };
  EXPECT_EQ(shape(128, 64), std::pair(2ul, 192ul));
  EXPECT_EQ(shape(128, 128), std::pair(2ul, 128ul));
  EXPECT_EQ(shape(64, 64), std::pair(2ul, 64ul));
  EXPECT_EQ(shape(128, 32), std::pair(2ul, 256ul));
  EXPECT_EQ(shape(256, 64), std::pair(2ul, 512ul));
  EXPECT_EQ(shape(160, 64), std::pair(2ul, 256ul));
  EXPECT_EQ(shape(192, 64), std::pair(2ul, 320ul));
  EXPECT_EQ(shape(96, 64), std::pair(3ul, 256ul));
  EXPECT_EQ(shape(128, 256), std::pair(4ul, 256ul));
  EXPECT_EQ(shape(64, 128), std::pair(4ul, 128ul));
}

TEST(VisitShape, AShortEpochHasManyVisitsAllTheSame) {
  for (const std::uint64_t samples : {1, 31, 64, 100, 300, 1000})
    EXPECT_LE(visit_shape(3, three(64, 64, 64), three(128, 128, 128), samples).num_boxes(),
              std::max<std::uint64_t>(samples / 32, 1));
}

TEST(VisitShape, FiguresOfThatSimulation) {
  const auto cubed = [](std::uint64_t m, std::uint64_t cell, std::uint64_t box, std::uint64_t chunk) {
    const VisitFigures f = visit_figures(m, cell, box, chunk);
    return std::pair(std::pow(f.amplification, 3), std::pow(f.overlap, 3));
  };
  EXPECT_NEAR(cubed(2, 192, 128, 64).first, 1.26, 0.005);
  EXPECT_NEAR(cubed(2, 192, 128, 64).second, 1.49, 0.02);
  EXPECT_NEAR(cubed(2, 256, 128, 64).first, 1.93, 0.005);
  EXPECT_NEAR(cubed(3, 384, 128, 64).first, 1.58, 0.005);
  EXPECT_NEAR(cubed(4, 512, 128, 128).first, 1.94, 0.005);
  EXPECT_NEAR(cubed(2, 128, 128, 128).first, 1.00, 0.005);
}

TEST(BoxMap, VisitsTellWhatTheyAskForInEachEpoch) {
  VisitStarts::Options options{{three(40, 40, 40)}, three(16, 16, 16), {3, three(2, 2, 2), three(24, 24, 24)}, 50};
  BoxMap::Options map;
  CellGrid grid{3, three(40, 40, 40), three(8, 8, 8), 1};
  map.volumes = {{0, {grid, grid}}};
  map.box = options.box;
  map.starts = std::make_shared<EvenVisits>(options);
  const BoxMap boxes(std::move(map));
  ASSERT_EQ(boxes.block_units(), SampleMap::BlockUnits::kByEpoch);
  const BlockTable& blocks = *boxes.shuffle_blocks();
  for (const EpochSeed draws : {EpochSeed{0, 1}, EpochSeed{1, 1}}) {
    for (std::uint32_t block = 0; block < blocks.num_blocks(); ++block) {
      std::vector<std::uint32_t> units, ends;
      boxes.units_of(block, draws, units);
      std::set<std::uint32_t> asked;
      std::vector<Part> parts;
      for (std::uint32_t row = 0; row < blocks.block_rows(block); ++row) {
        const SampleRef sample{block, row};
        boxes.expand({&sample, 1}, draws, parts, ends);
      }
      for (const Part& part : parts) asked.insert(part.unit);
      EXPECT_EQ(std::set(units.begin(), units.end()), asked);
      EXPECT_EQ(units.size(), asked.size());
    }
  }
}

}  // namespace
}  // namespace headrace
