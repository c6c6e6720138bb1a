#include "base/random/philox.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

namespace headrace {
namespace {

TEST(Philox, AgreesWithTheKnownAnswersOfRandom123) {
  using P = Philox4x32;
  // kat_vectors of the authors' library, "philox4x32 10".
  EXPECT_EQ(P::block({0, 0, 0, 0}, {0, 0}), (P::Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(P::block({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}), (P::Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(P::block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (P::Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomKey, DependsOnEveryWordAndItsPlace) {
  EXPECT_EQ(RandomKey::of({1, 2}).with(3), RandomKey::of({1, 2, 3}));
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  const auto add = [&](RandomKey key) { EXPECT_TRUE(seen.emplace(key.low, key.high).second); };
  add(RandomKey::of({}));
  for (std::uint64_t a = 0; a < 20; ++a) {
    add(RandomKey::of({a}));
    for (std::uint64_t b = 0; b < 20; ++b) {
      add(RandomKey::of({a, b}));
      add(RandomKey::of({a, b << 32, 0}));
    }
  }
}

TEST(KeyedRandom, IsTheSameOnEveryMachine) {
  // Recorded once: a change of these numbers changes every shuffled epoch of every user.
  KeyedRandom random(RandomKey::of({7, 1, 2}));
  const std::vector<std::uint64_t> first{random(), random(), random()};
  EXPECT_EQ(first, (std::vector<std::uint64_t>{3074726794670875692u, 2177952264705632343u, 3562138482739522179u}));
  std::vector<std::uint32_t> items(10);
  std::iota(items.begin(), items.end(), 0);
  keyed_shuffle(std::span(items), RandomKey::of({7, 1, 2}));
  EXPECT_EQ(items, (std::vector<std::uint32_t>{3, 2, 7, 8, 9, 4, 0, 5, 1, 6}));
}

/// Chi-squared over `counts` against equal expectation, in standard deviations from its mean.
double chi2_sigmas(const std::vector<std::uint64_t>& counts) {
  const double total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  const double expected = total / static_cast<double>(counts.size()), freedom = static_cast<double>(counts.size() - 1);
  double chi2 = 0;
  for (const std::uint64_t c : counts)
    chi2 += (static_cast<double>(c) - expected) * (static_cast<double>(c) - expected) / expected;
  return (chi2 - freedom) / std::sqrt(2 * freedom);
}

TEST(KeyedRandom, BelowIsUniformAndInRange) {
  KeyedRandom random(RandomKey::of({1}));
  for (const std::uint64_t bound : {1u, 2u, 3u, 10u, 64u, 1000u}) {
    std::vector<std::uint64_t> counts(bound);
    for (int i = 0; i < 200'000; ++i) ++counts.at(random.below(bound));
    if (bound > 1) {
      EXPECT_LT(std::abs(chi2_sigmas(counts)), 5) << bound;
    }
  }
  // Three quarters of 2^64: without the rejection the lower third would come up twice as often.
  const std::uint64_t bound = std::uint64_t{3} << 62;
  std::vector<std::uint64_t> thirds(3);
  for (int i = 0; i < 200'000; ++i) ++thirds.at(random.below(bound) >> 62);
  EXPECT_LT(std::abs(chi2_sigmas(thirds)), 5);
  EXPECT_LT(random.below(~std::uint64_t{0}), ~std::uint64_t{0});
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double u = random.unit();
    ASSERT_TRUE(u >= 0 && u < 1);
    sum += u;
  }
  EXPECT_NEAR(sum / 100'000, 0.5, 0.01);
}

TEST(KeyedShuffle, IsAPermutationForEverySize) {
  for (std::uint32_t n : {0u, 1u, 2u, 3u, 7u, 512u, 4096u}) {
    std::vector<std::uint32_t> items(n), sorted(n);
    std::iota(sorted.begin(), sorted.end(), 0);
    items = sorted;
    keyed_shuffle(std::span(items), RandomKey::of({n}));
    if (n > 16) {
      EXPECT_NE(items, sorted);
    }
    std::sort(items.begin(), items.end());
    EXPECT_EQ(items, sorted);
  }
}

TEST(KeyedShuffle, EveryOrderOfFourIsEquallyLikely) {
  std::vector<std::uint64_t> counts(256);
  for (std::uint64_t key = 0; key < 48'000; ++key) {
    std::array<std::uint8_t, 4> items{0, 1, 2, 3};
    keyed_shuffle(std::span(items), RandomKey::of({0, key}));
    ++counts[items[0] | items[1] << 2 | items[2] << 4 | items[3] << 6];
  }
  std::erase(counts, 0u);
  EXPECT_EQ(counts.size(), 24u);
  EXPECT_LT(std::abs(chi2_sigmas(counts)), 5);
}

}  // namespace
}  // namespace headrace
