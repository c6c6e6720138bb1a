#include "order/steps/window_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace headrace {
namespace {

/// A line of testing/window_plans.txt, which testing/make_window_plans.py wrote: steps as NumPy plans them.
struct Case {
  std::size_t lanes = 0, samples = 0;
  StepRules rules;
  std::vector<std::uint32_t> costs;  // by position
  std::string steps;
};

std::vector<Case> cases() {
  std::ifstream file(HEADRACE_SOURCE_DIR "/src/order/testing/window_plans.txt");
  std::vector<Case> out;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Case c;
    std::string arrangement, bar;
    words >> c.lanes >> c.rules.budget >> arrangement >> c.rules.padded >> c.rules.most_indices >> c.samples;
    c.rules.arrangement = arrangement == "in_order" ? StepArrangement::kInOrder
                          : arrangement == "deal"   ? StepArrangement::kDeal
                                                    : StepArrangement::kBucket;
    c.costs.resize(c.samples);
    for (auto& cost : c.costs) words >> cost;
    words >> bar;
    std::getline(words >> std::ws, c.steps);
    out.push_back(std::move(c));
  }
  return out;
}

/// What the planner makes of a window, written as in the file.
std::string steps_of(const Case& c, WindowSteps& planner) {
  const std::size_t length = (c.samples + c.lanes - 1) / c.lanes;
  std::vector<std::vector<std::size_t>> positions(c.lanes);
  for (std::size_t p = 0; p < c.samples; ++p) positions[p % c.lanes].push_back(p);
  std::vector<std::vector<std::uint32_t>> costs(c.lanes);
  std::vector<std::span<const std::uint32_t>> lanes;
  for (std::size_t u = 0; u < c.lanes; ++u) {
    if (c.rules.arrangement != StepArrangement::kInOrder)
      std::ranges::stable_sort(positions[u], std::greater<>{}, [&](std::size_t p) { return c.costs[p]; });
    for (const std::size_t p : positions[u]) costs[u].push_back(c.costs[p]);
    costs[u].resize(length, 0);
    lanes.emplace_back(costs[u]);
  }
  planner.plan(lanes, length);
  std::string text;
  for (std::size_t s = 0; s < planner.size(); ++s) {
    if (s > 0) text += " | ";
    for (std::size_t u = 0; u < c.lanes; ++u) {
      if (u > 0) text += " / ";
      bool first = true;
      for (const std::uint32_t i : planner.step(s)) {
        if (!first) text += " ";
        first = false;
        text += i < positions[u].size() ? std::to_string(positions[u][i]) : "-";
      }
    }
  }
  return text;
}

TEST(WindowSteps, AreThoseOfAnIndependentPlanner) {
  const std::vector<Case> all = cases();
  ASSERT_EQ(all.size(), 60u);
  for (std::size_t i = 0; i < all.size(); ++i) {
    WindowSteps planner(all[i].rules);
    EXPECT_EQ(steps_of(all[i], planner), all[i].steps) << "line " << i + 1;
    EXPECT_EQ(steps_of(all[i], planner), all[i].steps) << "line " << i + 1 << ", planned again";
  }
}

TEST(WindowSteps, AnEmptyWindowHasNoSteps) {
  for (const auto arrangement : {StepArrangement::kInOrder, StepArrangement::kDeal, StepArrangement::kBucket}) {
    WindowSteps planner({.arrangement = arrangement, .budget = 10});
    const std::span<const std::uint32_t> lane;
    planner.plan({&lane, 1}, 0);
    EXPECT_EQ(planner.size(), 0u);
  }
}

}  // namespace
}  // namespace headrace
