#include "base/keyed_random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <vector>

namespace headrace {
namespace {

TEST(KeyedRandom, SplitMixMatchesItsPublishedVector) {  // seed 1234567, prng.di.unimi.it/splitmix64.c
  KeyedRandom random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317ull);
  EXPECT_EQ(random.next(), 3203168211198807973ull);
  EXPECT_EQ(random.next(), 9817491932198370423ull);
}

TEST(KeyedRandom, KeysDependOnEveryWordAndItsPlace) {
  EXPECT_NE(mix_key({1, 2}), mix_key({2, 1}));
  EXPECT_NE(mix_key({0}), mix_key({0, 0}));
  EXPECT_NE(mix_key({1, 2, 3}), mix_key({1, 2, 4}));
  EXPECT_EQ(mix_key({1, 2, 3}), mix_key({1, 2, 3}));
}

TEST(KeyedRandom, ShuffleIsUniformOverSmallPermutations) {
  std::map<std::array<int, 4>, int> counts;
  constexpr int kTrials = 48000;
  for (int key = 0; key < kTrials; ++key) {
    std::array<int, 4> items{0, 1, 2, 3};
    keyed_shuffle(std::span<int>(items), mix_key({99, static_cast<std::uint64_t>(key)}));
    ++counts[items];
  }
  ASSERT_EQ(counts.size(), 24u);
  double chi2 = 0;
  for (const auto& [items, n] : counts) chi2 += (n - kTrials / 24.0) * (n - kTrials / 24.0) / (kTrials / 24.0);
  EXPECT_LT(chi2, 49.7);  // 23 degrees of freedom, one in a thousand; the keys are fixed, so the figure is too
}

TEST(KeyedRandom, BelowStaysBelow) {
  KeyedRandom random(5);
  for (std::uint64_t bound : {1ull, 2ull, 3ull, 1000ull, (1ull << 63) + 1})
    for (int i = 0; i < 100; ++i) EXPECT_LT(random.below(bound), bound);
}

}  // namespace
}  // namespace headrace
