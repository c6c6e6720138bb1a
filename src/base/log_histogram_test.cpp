#include "base/log_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace headrace {
namespace {

TEST(LogHistogram, QuantilesAreAtMostAnEighthTooLarge) {
  std::vector<std::uint64_t> values;
  LogHistogram histogram;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    values.push_back(i * i * i % 1'000'003);
    histogram.add(values.back());
  }
  std::ranges::sort(values);
  for (const double share : {0.01, 0.5, 0.9, 0.99, 1.0}) {
    const std::uint64_t exact = values[static_cast<std::size_t>(share * 10'000) - 1], told = histogram.quantile(share);
    EXPECT_GE(told, exact);
    EXPECT_LE(told, exact + exact / 8);
  }
}

TEST(LogHistogram, SmallAndLargestValues) {
  LogHistogram none;
  EXPECT_EQ(none.quantile(0.99), 0u);
  for (const std::uint64_t value : {0, 1, 7, 8, 15, 16}) {
    LogHistogram one;
    one.add(value);
    EXPECT_EQ(one.quantile(0.5), value < 16 ? value : 17);
  }
  LogHistogram large;
  large.add(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(large.quantile(1), std::numeric_limits<std::uint64_t>::max());
}

}  // namespace
}  // namespace headrace
