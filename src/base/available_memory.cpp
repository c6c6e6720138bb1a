#include "base/available_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "base/cgroup.h"

namespace headrace {
namespace {

std::uint64_t minus(std::uint64_t a, std::uint64_t b) {
  return a - std::min(a, b);
}

std::uint64_t machine_bytes(const std::string& root) {
  const std::string meminfo = root + "/proc/meminfo";
  if (const auto available = read_keyed_number(meminfo, "MemAvailable")) return *available;
  const auto free = read_keyed_number(meminfo, "MemFree");  // kernels before 3.14
  if (free) return *free + read_keyed_number(meminfo, "Cached").value_or(0);
  const long pages = sysconf(_SC_AVPHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && page_bytes > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes)
                                     : std::uint64_t{1} << 30;
}

/// What may still be taken in one group; nullopt if it has no limit.
std::optional<std::uint64_t> room_in(const CgroupDirectory& group) {
  const bool v2 = group.version == 2;
  std::optional<std::uint64_t> limit = read_number(group.path + (v2 ? "/memory.max" : "/memory.limit_in_bytes"));
  if (v2)  // past memory.high the kernel throttles the process instead of killing it: no place to work either
    if (const auto high = read_number(group.path + "/memory.high")) limit = std::min(limit.value_or(*high), *high);
  if (!limit || *limit >= std::uint64_t{1} << 62) return std::nullopt;  // v1 says "unlimited" as 2^63 less a page
  const auto used = read_number(group.path + (v2 ? "/memory.current" : "/memory.usage_in_bytes")).value_or(0);
  const std::string stat = group.path + "/memory.stat", prefix = v2 ? "" : "total_";
  const std::uint64_t cache = read_keyed_number(stat, prefix + "inactive_file").value_or(0) +
                              read_keyed_number(stat, prefix + "active_file").value_or(0);
  return minus(*limit, minus(used, cache));
}

std::optional<std::uint64_t> address_space_limit(const MemoryProbe& probe) {
  if (probe.address_space_limit_bytes) return probe.address_space_limit_bytes;
  struct rlimit limit {};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

}  // namespace

AvailableMemory detect_available_memory(const MemoryProbe& probe) {
  AvailableMemory result{machine_bytes(probe.root), "the machine's MemAvailable"};
  const auto bound = [&](std::uint64_t bytes, std::string by) {
    if (bytes < result.bytes) result = {bytes, std::move(by)};
  };
  for (const CgroupDirectory& group : cgroup_directories("memory", probe.root))
    if (const auto room = room_in(group)) bound(*room, "the cgroup " + group.path);
  if (const auto limit = address_space_limit(probe))
    bound(minus(*limit, read_keyed_number(probe.root + "/proc/self/status", "VmSize").value_or(0)), "ulimit -v");
  return result;
}

}  // namespace headrace
