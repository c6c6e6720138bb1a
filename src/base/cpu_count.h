// How many threads can run at once: not what the machine has, but what this process may use.
#pragma once

#include <string>
#include <vector>

namespace headrace {

struct CpuProbe {
  std::string root;       ///< Put before /proc and /sys paths, for tests.
  int affinity_cpus = 0;  ///< CPUs of the affinity mask; 0 asks the system.
};

/// The least of the affinity mask (taskset, Slurm), the CPUs online, and the quota of the process's cgroup and its
/// ancestors, rounded up (v2 cpu.max, v1 cpu.cfs_quota_us / cpu.cfs_period_us). At least 1.
int usable_cpu_count(const CpuProbe& probe = {});

/// Why there are as many as there are.
struct CpuLimit {
  std::string rule;  ///< "processors online", "affinity mask", "cpu.max of the cgroup PATH".
  double cpus = 0;   ///< A quota may be a fraction.
};
struct CpuLimits {
  std::vector<CpuLimit> all;
  std::size_t ruling = 0;  ///< Index of the one that leaves least.
  int usable = 1;          ///< usable_cpu_count().
  [[nodiscard]] const CpuLimit& rules() const { return all[ruling]; }
};
CpuLimits list_cpu_limits(const CpuProbe& probe = {});

}  // namespace headrace
