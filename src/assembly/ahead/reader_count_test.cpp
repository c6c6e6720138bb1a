#include "assembly/ahead/reader_count.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace headrace {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

/// A storage that a number of decode threads work on, each unit of which takes `wait_ms` to read and `work_ms` to
/// decode.
struct Storage {
  double wait_ms, work_ms;
  std::uint32_t most_at_once = 1'000'000;  // reads that it makes at once; more of them wait for each other
};

/// Runs for so many periods; returns how many readers there are then.
std::uint32_t readers_after(ReaderCount& count, const Storage& storage, std::uint64_t& now_ns, int periods) {
  for (int p = 0; p < periods; ++p, now_ns += 201 * kMs) {
    const double at_once = count.wanted();
    const double latency = storage.wait_ms * std::max(1.0, at_once / storage.most_at_once);
    // Units a second: as the readers bring them, as the threads decode them.
    const double read = at_once * 1000 / latency, decoded = 2 * 1000 / storage.work_ms;
    const bool none = count.wanted() == 0;
    const double waits = none ? latency : read < decoded ? 2 * (1000 / read) - storage.work_ms : 0;
    const int units = static_cast<int>(0.2 * (none ? 2000 / (latency + storage.work_ms) : std::min(read, decoded))) + 1;
    for (int u = 0; u < units; ++u) {
      if (!none) count.fetched(static_cast<std::uint64_t>(latency * kMs));
      if (!none) count.read(static_cast<std::uint64_t>(latency * kMs));
      count.served(static_cast<std::uint64_t>(waits * kMs), static_cast<std::uint64_t>(storage.work_ms * kMs));
    }
    count.update(now_ns);
  }
  return count.wanted();
}

TEST(ReaderCount, FollowsHowLongReadsTake) {
  std::uint64_t now = kMs;
  ReaderCount none(2, ReaderCount::kMost, false);
  EXPECT_EQ(readers_after(none, {.wait_ms = 0, .work_ms = 1}, now, 20), 0U);
  ReaderCount few(2, ReaderCount::kMost, false);
  const std::uint32_t at_5 = readers_after(few, {.wait_ms = 5, .work_ms = 1}, now, 20);
  EXPECT_GE(at_5, 10U);
  EXPECT_LE(at_5, 32U);
  ReaderCount many(2, ReaderCount::kMost, false);
  EXPECT_GE(readers_after(many, {.wait_ms = 40, .work_ms = 1}, now, 20), 80U);
  ReaderCount allowed(2, 16, false);
  EXPECT_EQ(readers_after(allowed, {.wait_ms = 40, .work_ms = 1}, now, 20), 16U);
}

TEST(ReaderCount, HasNoneOnceReadsComeFromMemory) {
  std::uint64_t now = kMs;
  ReaderCount count(2, ReaderCount::kMost, false);
  EXPECT_GT(readers_after(count, {.wait_ms = 5, .work_ms = 1}, now, 20), 0U);
  EXPECT_EQ(readers_after(count, {.wait_ms = 0, .work_ms = 1}, now, 20), 0U);
  EXPECT_GT(readers_after(count, {.wait_ms = 5, .work_ms = 1}, now, 20), 0U);
}

/// A server that makes eight reads at once: with more, each takes longer, and all together bring no more.
TEST(ReaderCount, GivesUpWhatBringsNothing) {
  std::uint64_t now = kMs;
  ReaderCount count(2, ReaderCount::kMost, false);
  std::uint64_t sum = 0;
  for (int i = 0; i < 20; ++i) sum += readers_after(count, {.wait_ms = 5, .work_ms = 0.2, .most_at_once = 8}, now, 5);
  EXPECT_LE(sum / 20, 48U);
}

/// Units that differ as much as those of a first moment: where each read takes as long as before, no raise is given up.
TEST(ReaderCount, IsNotMisledByUnitsThatDiffer) {
  std::uint64_t now = kMs;
  ReaderCount count(2, ReaderCount::kMost, false);
  count.expect_waits();
  EXPECT_EQ(count.wanted(), 32U);
  for (int p = 0; p < 8; ++p, now += 101 * kMs) {
    const int units = p % 2 == 0 ? 30 : 20, reads = p % 2 == 0 ? 1 : 4;
    for (int u = 0; u < units; ++u) {
      for (int r = 0; r < reads; ++r) count.read(20 * kMs);
      count.fetched(static_cast<std::uint64_t>(reads) * 20 * kMs);
      count.served(10 * kMs, kMs);
    }
    count.update(now);
  }
  EXPECT_GE(count.wanted(), 64U);
}

/// What is expected stands until something was read ahead.
TEST(ReaderCount, ExpectsWaitsUntilOneUnitWasRead) {
  ReaderCount count(2, ReaderCount::kMost, false);
  count.expect_waits();
  for (std::uint64_t ms = 500; ms < 2000; ms += 200) {
    count.served(40 * kMs, kMs);
    count.update(ms * kMs);
    EXPECT_EQ(count.wanted(), 32U);
  }
  count.fetched(40 * kMs);
  count.served(40 * kMs, kMs);
  count.update(3000 * kMs);
  EXPECT_GT(count.wanted(), 32U);
}

/// What was expected turns out to be wrong.
TEST(ReaderCount, ExpectsWaitsUntilItSeesNone) {
  std::uint64_t now = kMs;
  ReaderCount count(2, ReaderCount::kMost, false);
  count.expect_waits();
  EXPECT_EQ(readers_after(count, {.wait_ms = 0, .work_ms = 1}, now, 3), 0U);
}

TEST(ReaderCount, IsWhatTheUserSays) {
  std::uint64_t now = kMs;
  ReaderCount count(2, 5, true);
  EXPECT_EQ(count.wanted(), 5U);
  EXPECT_EQ(readers_after(count, {.wait_ms = 40, .work_ms = 1}, now, 20), 5U);
}

}  // namespace
}  // namespace headrace
