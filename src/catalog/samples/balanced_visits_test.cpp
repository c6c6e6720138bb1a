#include "catalog/samples/balanced_visits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

namespace headrace {
namespace {

const Axes kBlock{2, 2, 2, 1, 1};

VisitStarts::Options two_volumes(std::uint64_t samples) {
  return {{{10, 12, 9, 1, 1}, {8, 8, 8, 1, 1}}, {4, 4, 4, 1, 1}, {3, {2, 2, 1}, {4, 4, 4}}, samples};
}

std::vector<ClassBlocks> two_classes() {
  return {{"many", {{0, 0, 5}, {0, 7, 8}, {0, 31, 1}, {1, 63, 2}, {1, 10, 8}}}, {"one", {{1, 21, 3}}}};
}

/// The centre that a box has, if it was not moved inwards.
std::uint64_t block_of(const BoxPlace& at, const VisitStarts::Options& options) {
  std::uint64_t number = 0;
  for (std::size_t a = 0; a < 3; ++a)
    number = number * ((options.shapes[at.volume][a] + 1) / 2) + (at.start[a] + 2) / 2;
  return number;
}

TEST(BalancedVisits, ClassesAreEquallyLikelyAndBlocksAsTheirVoxels) {
  // Patches of one voxel are centred where they begin: each tells its block.
  VisitStarts::Options options = two_volumes(41);
  options.box = {1, 1, 1, 1, 1};
  const std::vector<ClassBlocks> classes = two_classes();
  const BalancedVisits starts(options, kBlock, classes);
  constexpr std::uint64_t kEpochs = 40'000;
  for (const std::uint64_t sample : {0, 1, 20, 40}) {
    std::map<std::pair<std::uint32_t, std::uint64_t>, double> hits;
    std::map<Axes, double> inside;  // of one block
    for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
      const BoxPlace at = starts.place_of(starts.box_of(sample, {epoch, 3}));
      std::uint64_t number = 0;
      for (std::size_t a = 0; a < 3; ++a) number = number * ((options.shapes[at.volume][a] + 1) / 2) + at.start[a] / 2;
      ++hits[{at.volume, number}];
      if (at.volume == 1 && number == 21) ++inside[at.start];
    }
    double chi2 = 0;
    const auto expect = [&](std::uint32_t volume, std::uint64_t number, double share) {
      const double expected = share * static_cast<double>(kEpochs);
      chi2 += std::pow(hits[{volume, number}] - expected, 2) / expected;
    };
    expect(1, 21, 0.5);
    for (const ClassBlocks::Block& b : classes[0].blocks)
      expect(b.volume, b.number, 0.5 * static_cast<double>(b.voxels) / 24);
    EXPECT_EQ(hits.size(), 6u) << "no other block";
    EXPECT_LT(chi2 / 5, 1 + 5 * std::sqrt(2.0 / 5)) << sample;
    EXPECT_EQ(inside.size(), 8u);
    for (const auto& [start, n] : inside) EXPECT_NEAR(n, kEpochs / 16.0, 6 * std::sqrt(kEpochs / 16.0));
  }
}

TEST(BalancedVisits, BoxesAreCentredInBlocksAndMovedInwards) {
  const VisitStarts::Options options = two_volumes(97);
  const std::vector<ClassBlocks> classes = two_classes();
  const BalancedVisits starts(options, kBlock, classes);
  const auto fits = [&](const BoxPlace& at, const ClassBlocks::Block& block) {
    if (at.volume != block.volume) return false;
    std::uint64_t left = block.number;
    for (std::size_t a = 3; a-- > 0;) {
      const std::uint64_t extent = options.shapes[at.volume][a], along = (extent + 1) / 2;
      const std::uint64_t begin = left % along * 2, end = std::min(begin + 2, extent);  // centres
      left /= along;
      const auto start_of = [&](std::uint64_t centre) {
        return std::min(centre - std::min<std::uint64_t>(centre, 2), extent - 4);
      };
      if (at.start[a] < start_of(begin) || at.start[a] > start_of(end - 1)) return false;
    }
    return true;
  };
  for (std::uint64_t epoch = 0; epoch < 50; ++epoch)
    for (std::uint64_t i = 0; i < options.samples; ++i) {
      const BoxPlace at = starts.place_of(starts.box_of(i, {epoch, 1}));
      bool known = false;
      for (const ClassBlocks& one : classes)
        for (const ClassBlocks::Block& block : one.blocks) known = known || fits(at, block);
      EXPECT_TRUE(known) << i;
    }
}

TEST(BalancedVisits, EveryStretchIsBalanced) {
  const VisitStarts::Options options = two_volumes(4000);
  const BalancedVisits starts(options, kBlock, two_classes());
  std::uint64_t of_one = 0;
  for (std::uint64_t i = 0; i < options.samples; ++i) {
    const BoxPlace at = starts.place_of(starts.box_of(i, {7, 1}));
    of_one += at.volume == 1 && block_of(at, options) == 21;
  }
  // One half are of the second class, to within a visit and those of the first that are centred there: none.
  EXPECT_NEAR(static_cast<double>(of_one), 2000, 8);
}

}  // namespace
}  // namespace headrace
