#include "transform/kinds/log_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace headrace {
namespace {

template <class T>
T exact(LogBase base, T x) {
  return base == LogBase::kTen ? std::log10(x) : base == LogBase::kTwo ? std::log2(x) : std::log(x);
}

template <class T>
void expect_logs() {
  for (const LogBase base : {LogBase::kE, LogBase::kTwo, LogBase::kTen})
    for (const std::size_t count : {1, 7, 16, 33, 1000}) {  // of whole vectors and not
      std::vector<T> values, wanted;
      for (std::size_t i = 0; i < count; ++i)
        values.push_back(std::ldexp(static_cast<T>(i % 97) + T(1.25), static_cast<int>(i * 7 % 190) - 95));
      for (const T v : values) wanted.push_back(exact(base, v));
      log_values(base, std::span(values));
      for (std::size_t i = 0; i < count; ++i) {
        const T near = 8 * std::numeric_limits<T>::epsilon() * std::max(std::abs(wanted[i]), T(1));
        ASSERT_NEAR(values[i], wanted[i], near) << i << " of " << count;
      }
    }
}

TEST(LogValues, AreThoseOfTheStandardLibrary) {
  expect_logs<float>();
  expect_logs<double>();
}

template <class T>
void expect_edges() {
  using Limits = std::numeric_limits<T>;
  for (const LogBase base : {LogBase::kE, LogBase::kTwo, LogBase::kTen}) {
    std::vector<T> values{T(0),
                          -T(0),
                          T(-1),
                          Limits::infinity(),
                          -Limits::infinity(),
                          Limits::quiet_NaN(),
                          T(1),
                          Limits::denorm_min(),
                          Limits::max()};
    const std::vector<T> given = values;
    log_values(base, std::span(values));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const T wanted = exact(base, given[i]);
      if (std::isnan(wanted))
        EXPECT_TRUE(std::isnan(values[i])) << given[i];
      else if (std::isinf(wanted))
        EXPECT_EQ(values[i], wanted) << given[i];
      else
        EXPECT_NEAR(values[i], wanted, 1e-5 * std::max(std::abs(wanted), T(1))) << given[i];
    }
  }
}

TEST(LogValues, HaveTheEdgesOfTheStandardLibrary) {
  expect_edges<float>();
  expect_edges<double>();
}

}  // namespace
}  // namespace headrace
