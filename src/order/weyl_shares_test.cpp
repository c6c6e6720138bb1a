#include "order/weyl_shares.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>

namespace headrace {
namespace {

std::vector<double> random_weights() {
  std::vector<double> weights;
  for (int i = *rc::gen::inRange(1, 8); i > 0; --i)
    weights.push_back(std::pow(2.0, *rc::gen::inRange(-20, 6)) * (1 + *rc::gen::inRange(0, 1000) / 1000.0));
  return weights;
}

TEST(WeylShares, CountsAreThoseOfTheSequence) {
  EXPECT_TRUE(rc::check([] {
    const WeylShares shares(random_weights(), *rc::gen::arbitrary<std::uint64_t>());
    std::vector<std::uint64_t> counts(shares.num_sources());
    for (std::uint64_t n = 0; n < 2000; ++n) {
      for (std::size_t c = 0; c < counts.size(); ++c) RC_ASSERT(shares.count_before(c, n) == counts[c]);
      ++counts[shares.source_of(n)];
    }
  }));
}

TEST(WeylShares, CountsAddUpFarAway) {
  EXPECT_TRUE(rc::check([] {
    const WeylShares shares(random_weights(), *rc::gen::arbitrary<std::uint64_t>());
    const auto first = *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 59);
    std::vector<std::uint64_t> counts;
    std::uint64_t sum = 0;
    for (std::size_t c = 0; c < shares.num_sources(); ++c) {
      counts.push_back(shares.count_before(c, first));
      sum += counts.back();
    }
    RC_ASSERT(sum == first);
    for (std::uint64_t n = first; n < first + 300; ++n) ++counts[shares.source_of(n)];
    for (std::size_t c = 0; c < shares.num_sources(); ++c) RC_ASSERT(shares.count_before(c, first + 300) == counts[c]);
  }));
}

TEST(WeylShares, EveryStretchHasItsShares) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<double> weights = random_weights();
    double total = 0;
    for (const double w : weights) total += w;
    const WeylShares shares(weights, *rc::gen::arbitrary<std::uint64_t>());
    const auto first = *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 50);
    const auto length = *rc::gen::inRange<std::uint64_t>(1, 100'000);
    for (std::size_t c = 0; c < weights.size(); ++c) {
      const auto got = shares.count_before(c, first + length) - shares.count_before(c, first);
      RC_ASSERT(std::abs(static_cast<double>(got) - weights[c] / total * static_cast<double>(length)) < 8.0);
    }
  }));
}

}  // namespace
}  // namespace headrace
