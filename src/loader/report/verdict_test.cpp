#include "loader/report/verdict.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

Report::Cache kept(std::string kind, std::string coding, bool complete) {
  Report::Cache cache;
  cache.kind = std::move(kind), cache.coding = std::move(coding), cache.complete = complete;
  return cache;
}

TEST(Verdict, AdviceAboutACacheFollowsItsState) {
  EXPECT_NE(advice_for_cache(kept("directory", "decoded", false)).find("writing the cache directory"),
            std::string::npos);
  EXPECT_EQ(advice_for_cache(kept("directory", "decoded", true)).find("writing"), std::string::npos);
  EXPECT_NE(advice_for_cache(kept("blocks", "LZ4", true)).find("re-encoded"), std::string::npos);
  EXPECT_EQ(advice_for_cache(kept("all rows", "decoded", true)).find("re-encoded"), std::string::npos);
  EXPECT_NE(advice_for_cache(kept("blocks", "LZ4", false)).find("keeping blocks"), std::string::npos);
}

TEST(Verdict, ProcessorsThatLoadingAndTrainingShare) {
  // 20 s on two processors: 8 s of decoding, 31 s of a step on two threads.
  EXPECT_NE(advice_for_shared_cpus(39, 20, 8, 2).find("torch.set_num_threads(1)"), std::string::npos);
  EXPECT_EQ(advice_for_shared_cpus(28, 20, 8, 2), "");      // one thread of the step, beside the decoding
  EXPECT_EQ(advice_for_shared_cpus(39, 20, 0.5, 2), "");    // loading takes next to nothing
  EXPECT_EQ(advice_for_shared_cpus(39, 20, 38, 2), "");     // loading alone
  EXPECT_EQ(advice_for_shared_cpus(0.4, 0.2, 0.1, 2), "");  // too short to tell
}

}  // namespace
}  // namespace headrace
