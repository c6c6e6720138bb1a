#include "loader/plan_for.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "dataset/testing/fake_source.h"

namespace headrace {
namespace {

/// As a loader of one of these processes would have them.
TEST(PlanFor, HasTheProcessorsOfOneOfTheHostsProcesses) {
  const Dataset data = testing::fake_dataset({4000}, {{4, 20}});
  ::setenv("LOCAL_WORLD_SIZE", "1000000", 1);
  const Result<EnginePlan> plan = plan_for(data, {.batch_size = 16}, std::uint64_t{1} << 30);
  ::unsetenv("LOCAL_WORLD_SIZE");
  EXPECT_EQ(plan->threads, 1u);
}

}  // namespace
}  // namespace headrace
