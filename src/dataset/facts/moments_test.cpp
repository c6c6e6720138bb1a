#include "dataset/facts/moments.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace headrace {
namespace {

std::vector<FeatureMoments> plain(const std::vector<double>& values, std::size_t features, double above) {
  std::vector<FeatureMoments> out(features);
  for (std::size_t f = 0; f < features; ++f) {
    long double sum = 0, squares = 0;
    FeatureMoments& m = out[f];
    m.least = std::numeric_limits<double>::infinity();
    m.largest = -m.least;
    for (std::size_t i = f; i < values.size(); i += features) {
      if (!(values[i] > above)) continue;
      ++m.count;
      sum += values[i];
      m.least = std::min(m.least, values[i]);
      m.largest = std::max(m.largest, values[i]);
    }
    for (std::size_t i = f; i < values.size(); i += features)
      if (values[i] > above) squares += (values[i] - sum / m.count) * (values[i] - sum / m.count);
    m.mean = static_cast<double>(sum / m.count);
    m.squares = static_cast<double>(squares);
  }
  return out;
}

TEST(Moments, AreThoseOfTheDefinition) {
  std::mt19937 random(5);
  for (const std::size_t features : {1, 2, 3, 5, 8, 9, 33, 3000}) {
    std::normal_distribution<double> normal(1000, 3);
    std::vector<double> values(features * 1777);
    for (double& v : values) v = normal(random);
    const Where where = Where::parse("x > 999.5", "x", features, false).value();
    for (const bool all : {true, false}) {
      Moments moments(features, all ? nullptr : &where);
      moments.add(std::span(values).first(features * 700));
      moments.add(std::span(values).subspan(features * 700));
      const std::vector<FeatureMoments> expected = plain(values, features, all ? -1e9 : 999.5);
      for (std::size_t f = 0; f < features; ++f) {
        const FeatureMoments& got = moments.features()[f];
        ASSERT_EQ(got.count, expected[f].count);
        ASSERT_EQ(got.least, expected[f].least);
        ASSERT_EQ(got.largest, expected[f].largest);
        ASSERT_NEAR(got.mean, expected[f].mean, 1e-12 * expected[f].mean);
        ASSERT_NEAR(got.squares, expected[f].squares, 1e-12 * expected[f].squares);
      }
    }
  }
}

TEST(Moments, LoseNoDigitFarFromZero) {
  std::mt19937 random(6);
  std::normal_distribution<double> normal(1e9, 1);
  std::vector<double> values(100'000);
  for (double& v : values) v = normal(random);
  Moments moments(1, nullptr);
  moments.add(values);
  const FeatureMoments expected = plain(values, 1, -1e9)[0];
  EXPECT_NEAR(moments.features()[0].squares, expected.squares, 1e-13 * expected.squares);
}

TEST(Moments, LeaveOutWhatIsNotFinite) {
  const double inf = std::numeric_limits<double>::infinity();
  Moments moments(2, nullptr);
  moments.add(std::vector<double>{1, std::nan(""), 3, inf, -inf, 5});
  EXPECT_EQ(moments.features()[0], (FeatureMoments{2, 0, 1, 2, 0, 2, 1, 3}));
  EXPECT_EQ(moments.features()[1], (FeatureMoments{1, 1, 1, 5, 0, 0, 5, 5}));
}

}  // namespace
}  // namespace headrace
