#include "base/machine/available_memory.h"

#include <gtest/gtest.h>

#include "base/machine/cgroup.h"
#include "base/machine/cpu_count.h"
#include "base/machine/memory_limits.h"
#include "base/testing/fake_system.h"

namespace headrace {
namespace {

class FakeSystem : public testing::FakeSystem {
 protected:
  AvailableMemory detect(std::uint64_t address_space = kNone) { return detect_available_memory(probe(address_space)); }
  MemoryLimits limits() { return list_memory_limits(probe()); }
};

TEST_F(FakeSystem, MachineAlone) {
  EXPECT_EQ(detect().bytes, 8000u * 1024);
  write("/proc/meminfo", "MemTotal: 16000 kB\nMemFree: 1000 kB\nCached: 3000 kB\n");
  EXPECT_EQ(detect().bytes, 4000u * 1024);
}

TEST_F(FakeSystem, AddressSpaceLimitLessWhatIsInUse) {
  const auto found = detect(2'000'000);
  EXPECT_EQ(found.bytes, 2'000'000u - 500 * 1024);
  EXPECT_EQ(found.limited_by, "ulimit -v");
  EXPECT_EQ(detect(1000).bytes, 0u);
}

TEST_F(FakeSystem, Version2CountsEveryAncestorAndGivesTheCacheBack) {
  write("/proc/self/cgroup", "0::/user/job/step\n");
  write("/proc/self/mountinfo", "25 20 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
  const std::string top = "/sys/fs/cgroup";
  write(top + "/user/job/step/memory.max", "max\n");
  write(top + "/user/job/step/memory.current", "1000000\n");
  write(top + "/user/job/memory.max", "5000000\n");
  write(top + "/user/job/memory.current", "4000000\n");
  write(top + "/user/job/memory.stat", "anon 1000\nactive_file 200000\ninactive_file 300000\n");
  write(top + "/user/memory.max", "7000000\n");
  write(top + "/user/memory.current", "4500000\n");
  const auto found = detect();
  EXPECT_EQ(found.bytes, 5'000'000u - (4'000'000 - 500'000));
  EXPECT_NE(found.limited_by.find("/user/job"), std::string::npos);
  write(top + "/user/job/step/memory.high", "1100000\n");
  EXPECT_EQ(detect().bytes, 100'000u);
  write(top + "/user/memory.max", "4400000\n");
  EXPECT_EQ(detect().bytes, 0u) << "over the limit already";
}

TEST_F(FakeSystem, Version1InAMixedSystem) {
  write("/proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/pool/job\n0::/elsewhere\n");
  write("/proc/self/mountinfo",
        "30 25 0:26 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n"
        "31 25 0:27 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,cpu,memory\n"
        "32 25 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  const std::string top = "/sys/fs/cgroup/memory";
  write(top + "/memory.limit_in_bytes", "9223372036854771712\n");
  write(top + "/pool/memory.limit_in_bytes", "6000000\n");
  write(top + "/pool/memory.usage_in_bytes", "2000000\n");
  write(top + "/pool/memory.stat", "inactive_file 7\ntotal_inactive_file 500000\ntotal_active_file 100000\n");
  write(top + "/pool/job/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(detect().bytes, 6'000'000u - 1'400'000);
}

TEST_F(FakeSystem, ContainerThatSeesItsOwnGroupAsTheRoot) {
  // Without a cgroup namespace: the path is the host's, the mount shows the container's part of it.
  write("/proc/self/cgroup", "0::/docker/abc\n");
  write("/proc/self/mountinfo", "25 20 0:22 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  write("/sys/fs/cgroup/memory.max", "3000000\n");
  write("/sys/fs/cgroup/memory.current", "1000000\n");
  EXPECT_EQ(detect().bytes, 2'000'000u);
  // With one: both are "/".
  write("/proc/self/cgroup", "0::/\n");
  write("/proc/self/mountinfo", "25 20 0:22 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  EXPECT_EQ(detect().bytes, 2'000'000u);
  // A path above the namespace's root leads nowhere; the mount point itself still counts.
  write("/proc/self/cgroup", "0::/../other\n");
  EXPECT_EQ(detect().bytes, 2'000'000u);
}

TEST_F(FakeSystem, NonsenseIsSurvived) {
  write("/proc/self/cgroup", "::::\nx\n0::\n4:memory\n");
  write("/proc/self/mountinfo", "\n1 2 3\n25 20 0:22 / /sys/fs/cgroup rw -\n- - - - - cgroup2\n");
  EXPECT_EQ(detect().bytes, 8000u * 1024);
  write("/proc/self/mountinfo", "25 20 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n");
  write("/sys/fs/cgroup/memory.max", "lots\n");
  EXPECT_EQ(detect().bytes, 8000u * 1024);
}

TEST_F(FakeSystem, CpusAreBoundByTheQuotaOfAnyAncestor) {
  write("/proc/self/cgroup", "0::/a/b\n");
  write("/proc/self/mountinfo", "25 20 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(usable_cpu_count({root_, 64}), 64);
  write("/sys/fs/cgroup/a/cpu.max", "250000 100000\n");
  EXPECT_EQ(usable_cpu_count({root_, 64}), 3);
  EXPECT_EQ(usable_cpu_count({root_, 2}), 2);
  write("/sys/fs/cgroup/a/b/cpu.max", "1000 100000\n");
  EXPECT_EQ(usable_cpu_count({root_, 64}), 1);
  for (const char* nonsense : {"", "x", "0 0", "5", "-1 100000", "100000 0"}) {
    write("/sys/fs/cgroup/a/b/cpu.max", nonsense);
    EXPECT_EQ(usable_cpu_count({root_, 64}), 3) << nonsense;
  }
}

TEST_F(FakeSystem, CpusUnderVersion1) {
  write("/proc/self/cgroup", "1:cpu,cpuacct:/job\n");
  write("/proc/self/mountinfo", "31 25 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
  write("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(usable_cpu_count({root_, 8}), 8);
  write("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "400000\n");
  EXPECT_EQ(usable_cpu_count({root_, 8}), 4);
}

TEST_F(FakeSystem, EveryLimitIsListedAndTheLeastRules) {
  write("/proc/self/cgroup", "0::/job/step\n");
  write("/proc/self/mountinfo", "25 20 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  const std::string job = "/sys/fs/cgroup/job";
  write(job + "/step/memory.max", "max\n");
  write(job + "/step/memory.current", "1000000\n");
  write(job + "/memory.max", "5000000\n");
  write(job + "/memory.high", "4500000\n");
  write(job + "/memory.current", "3000000\n");
  write(job + "/memory.stat", "inactive_file 500000\n");
  const MemoryLimits found = list_memory_limits(probe(7'000'000));
  ASSERT_EQ(found.all.size(), 4u);
  const MemoryLimit &machine = found.all[0], &max = found.all[1], &high = found.all[2], &ulimit = found.all[3];
  EXPECT_EQ(machine.rule, "MemAvailable");
  EXPECT_EQ(machine.limit_bytes, 16000u * 1024);
  EXPECT_EQ(machine.reclaimable_bytes, 7000u * 1024);
  EXPECT_EQ(machine.used_bytes, 15000u * 1024) << "all but MemFree";
  EXPECT_EQ(max.rule, "memory.max");
  EXPECT_EQ(max.past, MemoryLimit::Past::kKilled);
  EXPECT_EQ(max.limit_bytes, 5'000'000u);
  EXPECT_EQ(max.used_bytes, 3'000'000u);
  EXPECT_EQ(max.reclaimable_bytes, 500'000u);
  EXPECT_EQ(max.free_bytes, 2'500'000u);
  EXPECT_EQ(high.past, MemoryLimit::Past::kThrottled);
  EXPECT_EQ(high.free_bytes, 2'000'000u);
  EXPECT_EQ(ulimit.past, MemoryLimit::Past::kRefused);
  EXPECT_EQ(ulimit.used_bytes, 500u * 1024);
  EXPECT_EQ(&found.rules(), &high) << "it throttles before memory.max kills";
  EXPECT_NE(detect().limited_by.find(job), std::string::npos);
}

TEST_F(FakeSystem, HybridOfBothVersionsCountsBoth) {
  write("/proc/self/cgroup", "4:memory:/pool\n0::/elsewhere\n");
  write("/proc/self/mountinfo",
        "31 25 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "32 25 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  write("/sys/fs/cgroup/memory/pool/memory.limit_in_bytes", "6000000\n");
  write("/sys/fs/cgroup/memory/pool/memory.usage_in_bytes", "2000000\n");
  write("/sys/fs/cgroup/unified/elsewhere/memory.max", "max\n");
  EXPECT_EQ(limits().all.size(), 2u);
  EXPECT_EQ(detect().bytes, 4'000'000u);
  write("/sys/fs/cgroup/unified/elsewhere/memory.max", "3000000\n");
  write("/sys/fs/cgroup/unified/elsewhere/memory.current", "500000\n");
  EXPECT_EQ(limits().all.size(), 3u);
  EXPECT_EQ(detect().bytes, 2'500'000u);
}

TEST_F(FakeSystem, AGroupThatIsNotInTheMountLeavesTheMountPoint) {
  write("/proc/self/cgroup", "4:memory:/kubepods/pod1/abc\n");
  write("/proc/self/mountinfo", "31 25 0:27 /kubepods/pod1/xyz /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "5000000\n");
  write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1000000\n");
  EXPECT_EQ(detect().bytes, 4'000'000u);
}

TEST_F(FakeSystem, Version1TellsTheLimitOfAnAncestorThatIsNotVisible) {
  write("/proc/self/cgroup", "4:memory:/\n");
  write("/proc/self/mountinfo", "31 25 0:27 / /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  const std::string top = "/sys/fs/cgroup/memory";
  write(top + "/memory.limit_in_bytes", "9223372036854771712\n");
  write(top + "/memory.usage_in_bytes", "1500000\n");
  write(top + "/memory.stat", "hierarchical_memory_limit 9223372036854771712\ntotal_inactive_file 500000\n");
  EXPECT_EQ(limits().all.size(), 1u);
  write(top + "/memory.stat", "hierarchical_memory_limit 4000000\ntotal_inactive_file 500000\n");
  ASSERT_EQ(limits().all.size(), 2u);
  EXPECT_EQ(limits().rules().rule, "hierarchical_memory_limit");
  EXPECT_EQ(detect().bytes, 3'000'000u);
  write(top + "/memory.limit_in_bytes", "4000000\n");  // where it is seen itself, it is listed once
  ASSERT_EQ(limits().all.size(), 2u);
  EXPECT_EQ(limits().rules().rule, "memory.limit_in_bytes");
}

TEST_F(FakeSystem, WhichRuleBindsTheProcessors) {
  write("/proc/self/cgroup", "0::/a\n");
  write("/proc/self/mountinfo", "25 20 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  write("/sys/fs/cgroup/a/cpu.max", "250000 100000\n");
  CpuLimits found = list_cpu_limits({root_, 64});
  EXPECT_EQ(found.usable, 3);
  EXPECT_DOUBLE_EQ(found.rules().cpus, 2.5);
  EXPECT_NE(found.rules().rule.find("cpu.max"), std::string::npos);
  found = list_cpu_limits({root_, 2});
  EXPECT_EQ(found.usable, 2);
  EXPECT_EQ(found.rules().rule, "affinity mask");
}

TEST_F(FakeSystem, ProcessesOfAHostDivideItsProcessors) {
  const auto usable = [&](int mask, int online, std::uint32_t processes) {
    return usable_cpu_count({root_, mask, online, processes});
  };
  EXPECT_EQ(usable(64, 64, 1), 64);
  EXPECT_EQ(usable(64, 64, 8), 8);
  EXPECT_EQ(usable(8, 64, 8), 8);    // the launcher has divided them: each process has a mask of its own
  EXPECT_EQ(usable(32, 64, 8), 4);   // one mask for all of them
  EXPECT_EQ(usable(64, 64, 24), 3);  // rounded up
  EXPECT_EQ(usable(2, 2, 8), 1);
  EXPECT_EQ(list_cpu_limits({root_, 64, 64, 8}).rules().rule, "processors online / 8 processes");
  write("/proc/self/cgroup", "0::/a\n");
  write("/proc/self/mountinfo", "25 20 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  write("/sys/fs/cgroup/a/cpu.max", "1600000 100000\n");
  EXPECT_EQ(usable(64, 64, 8), 2);
  EXPECT_EQ(usable(8, 64, 8), 2);  // the quota is that of all of them
}

TEST(CpuCount, ThisMachineHasSome) {
  EXPECT_GE(usable_cpu_count(), 1);
  EXPECT_LE(usable_cpu_count(), 1 << 20);
}

TEST(AvailableMemory, ThisMachineHasSome) {
  const AvailableMemory found = detect_available_memory();
  EXPECT_GT(found.bytes, 1u << 20);
  EXPECT_FALSE(found.limited_by.empty());
  EXPECT_GT(resident_bytes(), 100u << 10);
  EXPECT_FALSE(shared_memory_size("/no/such/place").has_value());
}

}  // namespace
}  // namespace headrace
