// Is the exact shuffle as random as a random permutation? Known failures of other loaders' ciphers: neighbours that
// stay correlated, batches that are too even or too clumped.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "base/random/keyed_permutation.h"
#include "base/random/philox.h"
#include "order/quality.h"

namespace headrace {
namespace {

constexpr std::uint64_t kSeeds = 64;

/// n·r², r the correlation of the items at positions p and p + lag: 1 on average, with a variance of 2.
double lag_statistic(const KeyedPermutation& order, std::uint64_t lag) {
  const std::uint64_t n = order.size();
  const double mean = static_cast<double>(n - 1) / 2;
  double product = 0, squares = 0;
  const auto add = [&](std::uint64_t p) {
    const double a = static_cast<double>(order(p)) - mean, b = static_cast<double>(order((p + lag) % n)) - mean;
    product += a * b;
    squares += a * a;
  };
  std::uint64_t looks = n;
  if (n <= 1 << 17) {
    for (std::uint64_t p = 0; p < n; ++p) add(p);
  } else {
    looks = 1 << 15;
    KeyedRandom random(RandomKey::of({n, lag}));
    for (std::uint64_t i = 0; i < looks; ++i) add(random.below(n));
  }
  const double r = product / squares;
  return r * r * static_cast<double>(looks);
}

TEST(ExactShuffle, NeighboursAreUncorrelatedOverManySeeds) {
  for (const std::uint64_t n :
       {std::uint64_t{1000}, std::uint64_t{65'535}, std::uint64_t{65'536}, std::uint64_t{65'537},
        std::uint64_t{6'600'000}, std::uint64_t{132'000'000}, std::uint64_t{1} << 40})
    for (const std::uint64_t lag : {1u, 2u, 16u, 64u, 256u}) {
      double sum = 0;
      for (std::uint64_t seed = 0; seed < kSeeds; ++seed)
        sum += lag_statistic(KeyedPermutation(n, RandomKey::of({seed, 4})), lag);
      EXPECT_NEAR(sum / kSeeds, 1.0, 5 * std::sqrt(2.0 / kSeeds)) << "n = " << n << ", lag " << lag;
    }
}

TEST(ExactShuffle, ItemsStandEverywhereAlikeOverManySeeds) {
  constexpr std::size_t kCells = 16;
  for (const std::uint64_t n : {std::uint64_t{4096}, std::uint64_t{65'537}, std::uint64_t{100'003}}) {
    double sum = 0;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const KeyedPermutation order(n, RandomKey::of({seed, 5}));
      std::array<double, kCells * kCells> counts{};
      for (std::uint64_t p = 0; p < n; ++p) ++counts[p * kCells / n * kCells + order(p) * kCells / n];
      const double expected = static_cast<double>(n) / (kCells * kCells);
      for (const double c : counts) sum += (c - expected) * (c - expected) / expected;
    }
    // A table with fixed margins: chi squared of (kCells - 1)² degrees of freedom each.
    const double freedom = (kCells - 1.0) * (kCells - 1.0) * kSeeds;
    EXPECT_NEAR(sum, freedom, 5 * std::sqrt(2 * freedom)) << "n = " << n;
  }
}

TEST(ExactShuffle, BatchesAreDrawsByChanceOverManySeeds) {
  for (const std::uint64_t rows : {std::uint64_t{65'536}, std::uint64_t{66'000}, std::uint64_t{131'072}}) {
    const auto blocks = std::make_shared<BlockTable>(std::vector<BlockTable::FileBlocks>(50, {rows / 50, 40}));
    double by_file = 0, by_block = 0, batches = 0;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const OrderQuality q = measure_order(*make_global_shuffle(blocks, seed), *blocks, 256, {}, 0);
      by_file += q.file_effect / kSeeds;
      by_block += q.block_effect / kSeeds;
      batches = static_cast<double>(q.batches);
    }
    // Draws without replacement vary by a factor of (M - B) / (M - 1); the mean of D over batches has a variance of
    // 2 / (groups - 1) / batches.
    const double by_chance =
        static_cast<double>(blocks->num_rows() - 256) / static_cast<double>(blocks->num_rows() - 1);
    EXPECT_NEAR(by_file, by_chance, 5 * std::sqrt(2.0 / 49 / batches / kSeeds)) << rows;
    const double groups = static_cast<double>(blocks->num_blocks());
    EXPECT_NEAR(by_block, by_chance, 5 * std::sqrt(2.0 / groups / batches / kSeeds)) << rows;
  }
}

}  // namespace
}  // namespace headrace
