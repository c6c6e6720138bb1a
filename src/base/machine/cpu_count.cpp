#include "base/machine/cpu_count.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <thread>
#include <vector>

#include "base/machine/cgroup.h"

namespace headrace {
namespace {

/// CPUs of the calling thread's mask; machines with more than 1024 CPUs need a larger set than cpu_set_t.
int affinity_cpus() {
  for (int max_cpus = 1024; max_cpus <= 1 << 17; max_cpus *= 2) {
    cpu_set_t* const set = CPU_ALLOC(static_cast<std::size_t>(max_cpus));
    if (set == nullptr) return 0;
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(max_cpus));
    const int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
  return 0;
}

std::optional<double> quota_of(const CgroupDirectory& group) {
  std::optional<std::uint64_t> quota, period;
  if (group.version == 2) {  // "max 100000" or "150000 100000"
    const auto line = read_first_line(group.path + "/cpu.max");
    if (!line) return std::nullopt;
    std::uint64_t q = 0, p = 0;
    const char* const end = line->data() + line->size();
    const auto [next, ec] = std::from_chars(line->data(), end, q);
    if (ec != std::errc() || next == end || std::from_chars(next + 1, end, p).ec != std::errc()) return std::nullopt;
    quota = q, period = p;
  } else {  // -1: no quota, which read_number() does not take
    quota = read_number(group.path + "/cpu.cfs_quota_us");
    period = read_number(group.path + "/cpu.cfs_period_us");
  }
  if (!quota || !period || *quota == 0 || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

}  // namespace

CpuLimits list_cpu_limits(const CpuProbe& probe) {
  CpuLimits limits;
  const int mask = probe.affinity_cpus > 0 ? probe.affinity_cpus : affinity_cpus();
  const int online = probe.online_cpus > 0 || probe.affinity_cpus > 0
                         ? probe.online_cpus
                         : static_cast<int>(std::thread::hardware_concurrency());
  const double sharing = std::max(probe.local_processes, 1u);
  const auto add = [&](const std::string& rule, double cpus, bool shared) {
    if (shared && sharing > 1)
      limits.all.push_back({rule + " / " + std::to_string(probe.local_processes) + " processes", cpus / sharing});
    else
      limits.all.push_back({rule, cpus});
  };
  if (online > 0) add("processors online", online, true);
  if (mask > 0) add("affinity mask", mask, mask * sharing > online);
  for (const CgroupDirectory& group : cgroup_directories("cpu", probe.root))
    if (const auto quota = quota_of(group))
      add((group.version == 2 ? "cpu.max of the cgroup " : "cpu.cfs_quota_us of the cgroup ") + group.path, *quota,
          true);
  if (limits.all.empty()) limits.all.push_back({"nothing is known of the processors", 1});
  for (std::size_t i = 1; i < limits.all.size(); ++i)
    if (limits.all[i].cpus < limits.rules().cpus) limits.ruling = i;
  limits.usable = static_cast<int>(std::clamp(std::ceil(limits.rules().cpus), 1.0, 1048576.0));
  return limits;
}

int usable_cpu_count(const CpuProbe& probe) {
  return list_cpu_limits(probe).usable;
}

}  // namespace headrace
