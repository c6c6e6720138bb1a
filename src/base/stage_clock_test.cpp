#include "base/stage_clock.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace headrace {
namespace {

const StageTotals& of(const StageTable& table, Stage stage) {
  return table[static_cast<std::size_t>(stage)];
}

TEST(StageClock, AddsUpTimeCountAndBytes) {
  StageBoard board;
  StageClock& clock = board.add_thread();
  clock.add(Stage::kRead, 100, 4096);
  clock.add(Stage::kRead, 50, 1);
  clock.add(Stage::kDecode, 7, 0, 3);
  EXPECT_EQ(of(clock.totals(), Stage::kRead), (StageTotals{150, 2, 4097}));
  StageClock& other = board.add_thread();
  other.add(Stage::kRead, 1000, 3);
  EXPECT_EQ(of(board.totals(), Stage::kRead), (StageTotals{1150, 3, 4100}));
  EXPECT_EQ(of(board.totals(), Stage::kDecode), (StageTotals{7, 3, 0}));
  EXPECT_EQ(of(other.totals(), Stage::kRead), (StageTotals{1000, 1, 3}));
}

TEST(StageSpan, CoversTheTimeOfItsBlockWithoutGaps) {
  StageBoard board;
  StageClock& clock = board.add_thread();
  const std::uint64_t start = now_ns();
  {
    StageSpan span(clock, Stage::kRead);
    span.add_bytes(10);
    span.switch_to(Stage::kDecode);
    span.add_bytes(20);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    span.switch_to(Stage::kScatter);
    span.stop();
    span.stop();
  }
  const std::uint64_t wall = now_ns() - start;
  const StageTable totals = clock.totals();
  EXPECT_EQ(of(totals, Stage::kRead).count, 1u);
  EXPECT_EQ(of(totals, Stage::kRead).bytes, 10u);
  EXPECT_EQ(of(totals, Stage::kDecode).bytes, 20u);
  EXPECT_GE(of(totals, Stage::kDecode).ns, 2'000'000u);
  EXPECT_EQ(of(totals, Stage::kScatter).count, 1u);
  std::uint64_t sum = 0;
  for (const StageTotals& stage : totals) sum += stage.ns;
  EXPECT_LE(sum, wall);
}

TEST(StageSpan, WithoutAClockDoesNothing) {
  StageSpan span(nullptr, Stage::kRead);
  span.add_bytes(1);
  span.switch_to(Stage::kDecode);
}

TEST(StageBoard, MayBeSummedWhileThreadsWriteAndJoin) {
  StageBoard board;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&board] {
      StageClock& clock = board.add_thread();
      for (int i = 0; i < 20'000; ++i) clock.add(Stage::kScatter, 2, 3);
    });
  StageTotals before;
  for (int i = 0; i < 200; ++i) {
    const StageTotals now = of(board.totals(), Stage::kScatter);
    EXPECT_GE(now.ns, before.ns);
    EXPECT_GE(now.count, before.count);
    before = now;
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(of(board.totals(), Stage::kScatter), (StageTotals{120'000, 60'000, 180'000}));
}

TEST(Stage, EveryOneHasAName) {
  for (std::size_t s = 0; s < kStageCount; ++s) EXPECT_NE(to_string(static_cast<Stage>(s)), "other");
}

}  // namespace
}  // namespace headrace
