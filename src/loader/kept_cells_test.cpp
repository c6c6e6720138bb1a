// Cells of volumes that are kept decoded: what is planned for them, and that they are decoded once.
#include <gtest/gtest.h>
#include <headrace/loader.h>
#include <headrace/volumes.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "format/testing/hdf5_files.h"
#include "loader/engine/access.h"
#include "loader/plan/keep_need.h"
#include "loader/plan/plan_for.h"

namespace headrace {
namespace {

constexpr std::uint64_t kSide = 64, kChunk = 16, kCells = 64, kCellBytes = kChunk * kChunk * kChunk * 4;

class KeptCells : public ::testing::Test {
 protected:
  KeptCells() {
    const testing::Hdf5Writer file(folder_.path("v.h5"));
    file.write("gzip", {.shape = {kSide, kSide, kSide}, .chunk = {kChunk, kChunk, kChunk}, .gzip = 1});
    file.write("chunks", {.shape = {kSide, kSide, kSide}, .chunk = {7, 7, 7}});
    ::setenv("HEADRACE_KEEP_SHARE", "inf", 1);
  }
  ~KeptCells() override { ::unsetenv("HEADRACE_KEEP_SHARE"); }
  [[nodiscard]] Dataset drawn(std::vector<FieldChoice> fields = {{"gzip", ""}, {"chunks", ""}},
                              PatchDraws draws = PatchDraws::kIndependent) const {
    return patches(open_volumes({folder_.path("v.h5")}, {.fields = std::move(fields)}),
                   {.shape = {16, 16, 16}, .samples_per_epoch = 400, .draws = draws});
  }
  [[nodiscard]] static const MappedSource& mapped(const Dataset& data) { return *source_of(data).mapped(); }

  const TemporaryFolder folder_;
};

TEST_F(KeptCells, AreThoseThatAreDecoded) {
  const Dataset both = drawn();
  const KeptUnits units = count_kept_cells(mapped(both));
  EXPECT_EQ(units.number, kCells);
  EXPECT_EQ(units.largest_bytes, kCellBytes);
  EXPECT_EQ(units.all_bytes, kCells * kCellBytes);
  EXPECT_EQ(units.dense_bytes, 0u);
  EXPECT_EQ(count_kept_cells(mapped(drawn({{"chunks", ""}}))).number, 0u);
}

TEST_F(KeptCells, ALongWindowOrKeptOnesSaveDecodes) {
  const Dataset data = drawn();
  const double alone = decoded_bytes_of_drawn(mapped(data), 0, 0);
  EXPECT_NEAR(alone, mapped(data).boxes->mean_parts(0) * kCellBytes, 1);
  EXPECT_LT(decoded_bytes_of_drawn(mapped(data), 100, 0), alone);
  EXPECT_NEAR(decoded_bytes_of_drawn(mapped(data), 0, 0.75), alone / 4, 1);
  EXPECT_EQ(decoded_bytes_of_drawn(mapped(data), 10, 1), 0);
}

TEST_F(KeptCells, AWindowIsNoLongerThanTwoEpochs) {
  const LoaderOptions options{.batch = Samples{1}, .order = BlockShuffle{}};
  const Result<EnginePlan> plan = plan_for(drawn({{"chunks", ""}}), options, std::uint64_t{1} << 30);
  ASSERT_TRUE(plan.ok());
  EXPECT_GE(plan->slots, 400u);
  EXPECT_LE(plan->slots, 2 * 400u + 2);  // of 16 KiB: 16,384 fit the bytes of a window
}

/// From the smallest budget on: a window alone, then what a short window leaves, then all of them.
TEST_F(KeptCells, TakeThePlaceOfAWindowThatSavesLess) {
  const Dataset data = drawn({{"gzip", ""}});
  const LoaderOptions options{.batch = Samples{1}, .order = BlockShuffle{}, .threads = 2};
  const std::uint64_t least = smallest_budget(data, options);
  int windows = 0, some = 0, all = 0;
  for (std::uint64_t budget = least; budget < least + 4 * kCells * kCellBytes; budget += kCellBytes) {
    const Result<EnginePlan> plan = plan_for(data, options, budget);
    ASSERT_TRUE(plan.ok()) << budget;
    EXPECT_LE(plan->planned_bytes(), budget);
    EXPECT_LE(plan->cache_bytes, kCells * kCellBytes);
    if (plan->tier == CacheTier::kSomeBlocks) {  // beside a cell that each thread reads, and one that is put there
      EXPECT_LE(plan->planned_bytes() + (plan->threads + 1) * kCellBytes, budget);
    }
    const bool is_short = plan->slots <= plan->direct_window_slots();
    if (plan->keeps_all_units) {
      ++all;
      EXPECT_EQ(plan->tier, CacheTier::kSomeBlocks);
      EXPECT_EQ(plan->cache_bytes, kCells * kCellBytes);
      continue;
    }
    EXPECT_EQ(all, 0) << "with more memory they still fit";
    if (plan->tier == CacheTier::kSomeBlocks && is_short && plan->cache_bytes > kCells * kCellBytes / 2)
      ++some;
    else if (!is_short)
      ++windows;
  }
  EXPECT_GT(windows, 0);
  EXPECT_GT(some, 0);
  EXPECT_GT(all, 0);
  LoaderOptions none = options;
  none.cache = {CacheChoice::kNone, {}};
  EXPECT_EQ(plan_for(data, none, std::uint64_t{1} << 30)->tier, CacheTier::kNothing);
}

/// Visits need their window: it does not give way before all of them fit.
TEST_F(KeptCells, LeaveVisitsTheirWindow) {
  const Dataset data = drawn({{"gzip", ""}}, PatchDraws::kVisits);
  const LoaderOptions options{.batch = Samples{1}, .order = BlockShuffle{}, .threads = 2};
  int kept = 0;
  for (std::uint64_t budget = smallest_budget(data, options); kept == 0; budget += kCellBytes) {
    ASSERT_LT(budget, std::uint64_t{1} << 30);
    const Result<EnginePlan> plan = plan_for(data, options, budget);
    ASSERT_TRUE(plan.ok()) << budget;
    EXPECT_LE(plan->planned_bytes(), budget);
    kept += plan->keeps_all_units;
    if (!plan->keeps_all_units && plan->tier == CacheTier::kSomeBlocks) {
      EXPECT_GE(plan->slots, plan->visit_slots()) << "the cache takes what the visits leave";
    }
  }
}

TEST_F(KeptCells, AreDecodedOnce) {
  const Dataset data = drawn();
  Loader loader(data, {.batch = Samples{4}, .order = BlockShuffle{}, .memory = 64 << 20, .threads = 3});
  for (int epoch = 0; epoch < 4; ++epoch)
    for (const Batch& batch : loader) EXPECT_EQ(batch.rows(), 4u);
  const Report report = loader.report();
  EXPECT_TRUE(report.cache.complete);
  EXPECT_EQ(report.cache.blocks, kCells);
  EXPECT_EQ(report.cache.misses, kCells);
  EXPECT_EQ(report.cache.bytes, kCells * kCellBytes);
  EXPECT_GT(report.cache.hits, 0u);
}

}  // namespace
}  // namespace headrace
