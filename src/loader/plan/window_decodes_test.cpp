#include "loader/plan/window_decodes.h"

#include <gtest/gtest.h>
#include <headrace/bytes.h>
#include <headrace/loader.h>

#include "format/testing/hdf5_files.h"
#include "loader/plan/plan_for.h"

namespace headrace {
namespace {

/// 64 Ki rows of 256 bytes in blocks of 128, in batches of 256.
class WindowDecodes : public ::testing::Test {
 protected:
  WindowDecodes() {
    testing::Hdf5Writer(directory_.path("a.h5")).write("x", {.shape = {65536, 64}, .chunk = {128, 64}});
    options_.batch = Samples{256};
    options_.order = BlockShuffle{};
    options_.threads = 1;
    options_.cache.mode = CacheChoice::kNone;
  }
  TemporaryFolder directory_;
  LoaderOptions options_;
};

TEST_F(WindowDecodes, WhatTheLoaderReallyDoes) {
  options_.order = BlockShuffle{{16, 4, 0}};
  const Dataset data = open(directory_.path("a.h5"));
  const std::uint64_t least = smallest_budget(data, options_);
  for (const std::uint64_t budget : {least * 2, least * 3, least * 6, least * 12, mebibytes(512)}) {
    options_.memory = budget;
    const double foretold = window_decodes(window_plan_for(data, options_, budget).value());
    Loader loader(data, options_);
    for (const Batch& batch : loader) (void)batch;
    EXPECT_NEAR(loader.report().read_amplification / foretold, 1, 0.35) << budget << ": " << foretold;
  }
}

TEST_F(WindowDecodes, AnOrderWithoutLocalityKeepsTheBound) {
  options_.order = ExactShuffle{};
  const Dataset data = open(directory_.path("a.h5"));
  const EnginePlan plan = window_plan_for(data, options_, mebibytes(4)).value();
  EXPECT_GT(plan.expected_decodes(), 1);
  EXPECT_DOUBLE_EQ(window_decodes(plan), plan.expected_decodes());
}

}  // namespace
}  // namespace headrace
