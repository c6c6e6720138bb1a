#include "loader/plan/plan_for.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "dataset/testing/fake_source.h"

namespace headrace {
namespace {

/// As a loader of one of these processes would have them.
TEST(PlanFor, HasTheProcessorsOfOneOfTheHostsProcesses) {
  const Dataset data = testing::fake_dataset({4000}, {{4, 20}});
  ::setenv("LOCAL_WORLD_SIZE", "1000000", 1);
  const Result<EnginePlan> plan = plan_for(data, {.batch = Samples{16}}, std::uint64_t{1} << 30);
  ::unsetenv("LOCAL_WORLD_SIZE");
  EXPECT_EQ(plan->threads, 1u);
}

/// Blocks are kept whole, also where few of their rows were selected.
TEST(PlanFor, SomeBlocksAreKeptOnlyWhereAWholeOneFits) {
  const Dataset data = testing::fake_dataset({8192}, {{500, 512}});  // 16 blocks of 1 MB
  std::vector<std::uint64_t> one_of_each_block;
  for (std::uint64_t row = 0; row < data.size(); row += 512) one_of_each_block.push_back(row);
  const Dataset selected = data.select(one_of_each_block);
  const std::uint64_t block_bytes = 512 * data.sample_bytes();
  const LoaderOptions options{.batch = Samples{4}, .order = BlockShuffle{}, .threads = 1};
  const std::uint64_t least = smallest_budget(selected, options);
  int some = 0;
  for (std::uint64_t budget = least; budget < least + 14 * block_bytes; budget += block_bytes / 8) {
    const Result<EnginePlan> plan = plan_for(selected, options, budget);
    ASSERT_TRUE(plan.ok()) << budget;
    if (plan->tier != CacheTier::kSomeBlocks) continue;
    ++some;
    EXPECT_GE(plan->cache_bytes, block_bytes) << budget;
  }
  EXPECT_GT(some, 0);
}

}  // namespace
}  // namespace headrace
