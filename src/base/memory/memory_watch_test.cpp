#include "base/memory/memory_watch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/testing/fake_system.h"

namespace headrace {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20, kSecond = MemoryWatch::kInterval_ns;

/// A process of `resident` MiB in a group of `limit` MiB of which `used` are taken.
class WatchTest : public testing::FakeSystem {
 protected:
  WatchTest() {
    write("/proc/meminfo", "MemTotal: 64000000 kB\nMemFree: 60000000 kB\nMemAvailable: 60000000 kB\n");
    write("/proc/self/cgroup", "0::/job\n");
    write("/proc/self/mountinfo", "25 20 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  }
  void set(std::uint64_t limit_mib, std::uint64_t used_mib, std::uint64_t resident_mib) {
    write("/sys/fs/cgroup/job/memory.max", fmt::format("{}\n", limit_mib * kMiB));
    write("/sys/fs/cgroup/job/memory.current", fmt::format("{}\n", used_mib * kMiB));
    const auto page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    write("/proc/self/statm", fmt::format("999999 {} 0 0 0 0 0\n", resident_mib * kMiB / page_bytes));
  }
};

TEST_F(WatchTest, ALoweredLimitLowersTheBudgetAndARaisedOneRestoresIt) {
  set(1000, 500, 400);
  MemoryWatch watch(600 * kMiB, probe());
  EXPECT_EQ(watch.check(1, 400 * kMiB), std::nullopt) << "500 free and 400 of our own";
  set(700, 500, 400);
  EXPECT_EQ(watch.check(kSecond / 2, 400 * kMiB), std::nullopt) << "not looked at twice a second";
  EXPECT_EQ(watch.check(kSecond + 1, 400 * kMiB), std::nullopt) << "200 and 400 are just enough";
  set(600, 500, 400);
  EXPECT_EQ(watch.check(3 * kSecond, 400 * kMiB), 450 * kMiB) << "nine tenths of 100 and 400";
  EXPECT_EQ(watch.check(5 * kSecond, 400 * kMiB), std::nullopt) << "known already";
  set(602, 500, 400);
  EXPECT_EQ(watch.check(7 * kSecond, 400 * kMiB), std::nullopt) << "not for a trifle";
  set(2000, 500, 400);
  EXPECT_EQ(watch.check(9 * kSecond, 400 * kMiB), 600 * kMiB);
  EXPECT_EQ(watch.check(11 * kSecond, 400 * kMiB), std::nullopt);
}

TEST_F(WatchTest, WhatIsReservedAndNotTouchedIsNotCountedTwice) {
  set(1000, 900, 50);
  MemoryWatch watch(600 * kMiB, probe());
  EXPECT_EQ(watch.check(1, 500 * kMiB), 135 * kMiB) << "nine tenths of 100 free and 50 resident";
}

TEST_F(WatchTest, ANewBudgetIsLookedAtAtOnce) {
  set(1000, 500, 0);
  MemoryWatch watch(400 * kMiB, probe());
  EXPECT_EQ(watch.check(1, 0), std::nullopt);
  watch.set_budget(800 * kMiB);
  EXPECT_EQ(watch.check(2, 0), 450 * kMiB);
}

TEST(MemoryWatch, TheRuleDoesNotFlap) {
  constexpr std::uint64_t budget = 6400;
  EXPECT_EQ(MemoryWatch::next_budget(budget, 6400, 6400), 6400u);
  EXPECT_EQ(MemoryWatch::next_budget(budget, 6300, 6400), 5670u);
  EXPECT_EQ(MemoryWatch::next_budget(budget, 6400, 5670), 5670u) << "enough again only when nine tenths are";
  EXPECT_EQ(MemoryWatch::next_budget(budget, 7200, 5670), 6400u);
  EXPECT_EQ(MemoryWatch::next_budget(budget, 0, 5670), 0u);
}

TEST(MemoryWatch, ThisMachineHasEnoughForAMebibyte) {
  MemoryWatch watch(kMiB);
  EXPECT_EQ(watch.check(1, 0), std::nullopt);
}

}  // namespace
}  // namespace headrace
