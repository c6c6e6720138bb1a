// How many threads can run at once: not what the machine has, but what this process may use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headrace {

struct CpuProbe {
  std::string root = {};              ///< Put before /proc and /sys paths, for tests.
  int affinity_cpus = 0;              ///< CPUs of the affinity mask; 0 asks the system.
  int online_cpus = 0;                ///< CPUs of the machine; 0 asks the system, unless a mask is given.
  std::uint32_t local_processes = 1;  ///< Processes like this one on the host, which divide its CPUs.
};

/// Return the least of the affinity mask (taskset, Slurm), the CPUs online, and the quota of the process's cgroup and
/// its ancestors (v2 cpu.max, v1 cpu.cfs_quota_us / cpu.cfs_period_us), each divided by the number of processes that
/// share it, rounded up. At least 1. A mask is taken to be this process's own where as many of its size fit the
/// machine.
int usable_cpu_count(const CpuProbe& probe = {});

/// Why there are as many as there are.
struct CpuLimit {
  std::string rule;  ///< "processors online", "affinity mask", "cpu.max of the cgroup PATH"; "… / 4 processes".
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
