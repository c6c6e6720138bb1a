#include "assembly/kept/keep_forecast.h"

#include <gtest/gtest.h>

#include <limits>

namespace headrace {
namespace {

constexpr KeepCosts kJets{1, 0.5, 0.25};

TEST(KeepForecast, TheFirstEpochCostsTheShareAndLaterOnesConverge) {
  const auto epochs = forecast_keeping(kJets, 0, 1, 10, 0.12);
  ASSERT_EQ(epochs.size(), 10u);
  EXPECT_NEAR(epochs[0].cost, 1.12, 0.01);
  EXPECT_NEAR(epochs[0].kept_share, 0.12 / 0.5, 0.01);
  for (std::size_t e = 1; e < epochs.size(); ++e) EXPECT_GE(epochs[e].kept_share, epochs[e - 1].kept_share);
  EXPECT_LE(epochs[0].cost + epochs[1].cost, 2 * 1.15);  // against no cache
  EXPECT_DOUBLE_EQ(epochs[3].kept_share, 1);
  EXPECT_NEAR(epochs[9].cost, 0.25, 1e-9);
}

TEST(KeepForecast, EverythingAtOnceIsDearerFirst) {
  const auto at_once = forecast_keeping(kJets, 0, 1, 10, std::numeric_limits<double>::infinity());
  EXPECT_DOUBLE_EQ(at_once[0].cost, 1.5);
  EXPECT_DOUBLE_EQ(at_once[0].kept_share, 1);
  EXPECT_DOUBLE_EQ(at_once[1].cost, 0.25);
  double sum = 0, bounded = 0;
  for (const KeepEpoch& e : at_once) sum += e.cost;
  for (const KeepEpoch& e : forecast_keeping(kJets, 0, 1, 10)) bounded += e.cost;
  EXPECT_LE(bounded, 1.3 * sum);
}

TEST(KeepForecast, NoMoreIsKeptThanThereIsRoomFor) {
  const auto epochs = forecast_keeping(kJets, 0.125, 0.5, 8);
  EXPECT_NEAR(epochs[0].cost, 0.125 * 0.25 + 0.875 + (epochs[0].kept_share - 0.125) * 0.5, 1e-9);
  EXPECT_DOUBLE_EQ(epochs[7].kept_share, 0.5);
  EXPECT_NEAR(epochs[7].cost, 0.5 * 0.25 + 0.5, 1e-9);
}

}  // namespace
}  // namespace headrace
