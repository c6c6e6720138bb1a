#include "storage/read_waits.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/clock.h"

namespace headrace {
namespace {

void call(std::uint64_t bytes, bool waits) {
  const TimedFileCall timed(bytes);
  if (waits) return std::this_thread::sleep_for(std::chrono::milliseconds(5));
  for (const std::uint64_t until = now_ns() + 5'000'000; now_ns() < until;) {
  }
}

TEST(ReadWaits, AreOfCallsInWhichTheThreadWaits) {
  const WaitsHere all;
  call(1 << 20, false);  // it takes as long, at work
  EXPECT_EQ(all.waited_ns(), 0U);
  call(1 << 20, true);
  EXPECT_GE(all.waited_ns(), 3'000'000U);
  const WaitsHere path;
  call(0, true);
  EXPECT_GE(path.waited_ns(), 3'000'000U);
}

TEST(ReadWaits, TellWhetherFilesAnswerLateByNow) {
  for (int i = 0; i < 8; ++i) call(1 << 20, true);
  EXPECT_TRUE(files_answer_late());
  for (int i = 0; i < 100; ++i) const TimedFileCall quick(1 << 20);
  EXPECT_FALSE(files_answer_late());
}

TEST(ReadWaits, OfManySmallReadsFromTheSecondOn) {
  { const TimedFileCall quick(100); }
  const WaitsHere first;
  call(100, true);
  EXPECT_EQ(first.waited_ns(), 0U);
  call(100, true);
  EXPECT_GE(first.waited_ns(), 3'000'000U);
}

}  // namespace
}  // namespace headrace
