#include "base/random/keyed_permutation.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random/tabled_permutation.h"

namespace headrace {
namespace {

void expect_bijective(std::uint64_t n, RandomKey key) {
  const KeyedPermutation order(n, key);
  ASSERT_EQ(order.size(), n);
  std::vector<bool> seen(n);
  for (std::uint64_t position = 0; position < n; ++position) {
    const std::uint64_t item = order(position);
    ASSERT_LT(item, n) << "n = " << n;
    ASSERT_FALSE(seen[item]) << "n = " << n;
    seen[item] = true;
    ASSERT_EQ(order.position_of(item), position) << "n = " << n;
  }
  std::vector<std::uint64_t> items(n - n / 3);
  order.fill(n / 3, items);
  for (std::uint64_t i = 0; i < items.size(); ++i) ASSERT_EQ(items[i], order(n / 3 + i)) << "n = " << n;
}

TEST(KeyedPermutation, IsABijectionForEverySmallN) {
  for (std::uint64_t n = 0; n <= 4096; n = n < 1100 ? n + 1 : n + 7) expect_bijective(n, RandomKey::of({n, 1}));
  for (std::uint64_t n = 1; n <= 200; ++n) expect_bijective(n, RandomKey::of({n, 2}));
}

TEST(KeyedPermutation, IsABijectionAroundPowersOfTwoAndSquares) {
  for (int k = 2; k <= 20; k += k < 14 ? 1 : 3)
    for (std::int64_t d = -2; d <= 2; ++d)
      expect_bijective(static_cast<std::uint64_t>((std::int64_t{1} << k) + d), RandomKey::of({3}));
  for (std::uint64_t root : {100u, 255u, 511u})
    for (std::uint64_t n = root * root - 1; n <= root * root + 1; ++n) expect_bijective(n, RandomKey::of({4}));
}

TEST(TabledPermutation, IsTheSameOrder) {
  for (const std::uint64_t n : {1ul, 2ul, 3ul, 97ul, 4096ul, 65'537ul, 1'875'381ul, TabledPermutation::kMostItems,
                                TabledPermutation::kMostItems + 1}) {
    const KeyedPermutation computed(n, RandomKey::of({n}));
    const TabledPermutation tabled(computed);
    for (const std::uint64_t first : {std::uint64_t{0}, n / 2, n - std::min<std::uint64_t>(n, 1001)}) {
      std::vector<std::uint64_t> wanted(std::min<std::uint64_t>(n - first, 1001)), items(wanted.size());
      computed.fill(first, wanted);
      tabled.fill(first, items);
      ASSERT_EQ(items, wanted) << n << " from " << first;
    }
  }
}

TEST(KeyedPermutation, UndoesItselfForLargeN) {
  EXPECT_TRUE(rc::check([] {
    const int bits = *rc::gen::inRange(1, 64);
    const std::uint64_t n = 1 + *rc::gen::arbitrary<std::uint64_t>() % (std::uint64_t{1} << bits);
    const KeyedPermutation order(n, RandomKey::of({*rc::gen::arbitrary<std::uint64_t>()}));
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t x = *rc::gen::arbitrary<std::uint64_t>() % n;
      RC_ASSERT(order(x) < n);
      RC_ASSERT(order.position_of(order(x)) == x);
      RC_ASSERT(order(order.position_of(x)) == x);
    }
  }));
  const KeyedPermutation largest(std::uint64_t{1} << 63, RandomKey::of({1}));
  EXPECT_EQ(largest.position_of(largest((std::uint64_t{1} << 63) - 1)), (std::uint64_t{1} << 63) - 1);
}

double sigmas(const std::vector<std::uint64_t>& counts, double total) {
  const double expected = total / static_cast<double>(counts.size()), freedom = static_cast<double>(counts.size() - 1);
  double chi2 = 0;
  for (const std::uint64_t c : counts)
    chi2 += (static_cast<double>(c) - expected) * (static_cast<double>(c) - expected) / expected;
  return (chi2 - freedom) / std::sqrt(2 * freedom);
}

TEST(KeyedPermutation, EveryItemMayStandAnywhere) {
  for (const std::uint64_t n : {12u, 60u, 100u, 129u}) {
    const std::uint64_t keys = 400 * n;
    for (const std::uint64_t position : {std::uint64_t{0}, std::uint64_t{1}, n / 2, n - 1}) {
      std::vector<std::uint64_t> counts(n);
      for (std::uint64_t key = 0; key < keys; ++key) ++counts[KeyedPermutation(n, RandomKey::of({n, key}))(position)];
      EXPECT_LT(std::abs(sigmas(counts, static_cast<double>(keys))), 5) << n << " at " << position;
    }
  }
}

TEST(KeyedPermutation, NeighboursAreIndependent) {
  // Where do two neighbours go, relative to one another? A random permutation gives every difference mod n but 0 alike.
  const std::uint64_t n = 101;
  std::vector<std::uint64_t> counts(n - 1);
  std::uint64_t fixed = 0;
  const std::uint64_t keys = 400;
  for (std::uint64_t key = 0; key < keys; ++key) {
    const KeyedPermutation order(n, RandomKey::of({5, key}));
    for (std::uint64_t x = 0; x + 1 < n; ++x) ++counts[(order(x + 1) + n - order(x)) % n - 1];
    for (std::uint64_t x = 0; x < n; ++x) fixed += order(x) == x;
  }
  EXPECT_LT(std::abs(sigmas(counts, static_cast<double>(keys * (n - 1)))), 5);
  // Fixed points: one a permutation on average, variance one.
  EXPECT_LT(std::abs(static_cast<double>(fixed) - static_cast<double>(keys)), 5 * std::sqrt(static_cast<double>(keys)));
}

TEST(KeyedPermutation, IsTheSameOnEveryMachine) {
  const KeyedPermutation order(1'000'003, RandomKey::of({7}));
  const std::vector<std::uint64_t> first{order(0), order(1), order(999'999)};
  EXPECT_EQ(first, (std::vector<std::uint64_t>{841976u, 987067u, 728884u}));
}

}  // namespace
}  // namespace headrace
