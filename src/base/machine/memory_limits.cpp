#include "base/machine/memory_limits.h"

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/machine/page_size.h"

namespace headrace {
namespace {

constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 62;  // cgroup v1 says "unlimited" as 2^63 less a page

std::uint64_t minus(std::uint64_t a, std::uint64_t b) {
  return a - std::min(a, b);
}

std::uint64_t system_pages(int name) {
  const long pages = sysconf(name);
  return pages > 0 ? static_cast<std::uint64_t>(pages) * page_bytes() : 0;
}

MemoryLimit machine(const std::string& root) {
  const KeyedNumbers meminfo(root + "/proc/meminfo");
  const auto free = meminfo.get("MemFree");
  auto available = meminfo.get("MemAvailable");
  if (!available && free)  // kernels before 3.14
    available = *free + meminfo.get("Cached").value_or(0);
  if (!available) {
    available = system_pages(_SC_AVPHYS_PAGES);
    if (*available == 0) available = std::uint64_t{1} << 30;
  }
  MemoryLimit limit{"the machine", "MemAvailable", MemoryLimit::Past::kKilled, 0, 0, 0, *available};
  limit.limit_bytes = meminfo.get("MemTotal").value_or(system_pages(_SC_PHYS_PAGES));
  limit.reclaimable_bytes = minus(*available, free.value_or(*available));
  limit.used_bytes = minus(limit.limit_bytes, minus(*available, limit.reclaimable_bytes));
  return limit;
}

std::optional<std::uint64_t> limit_in(const std::string& file) {
  const auto bytes = read_number(file);
  return bytes && *bytes < kUnlimited ? bytes : std::nullopt;
}

void add_group(const CgroupDirectory& group, std::vector<MemoryLimit>& all) {
  const bool v2 = group.version == 2;
  const auto hard = limit_in(group.path + (v2 ? "/memory.max" : "/memory.limit_in_bytes"));
  const auto high = v2 ? limit_in(group.path + "/memory.high") : std::nullopt;
  if (!hard && !high) return;
  const KeyedNumbers stat(group.path + "/memory.stat");
  const std::string prefix = v2 ? "" : "total_";
  MemoryLimit limit;
  limit.where = "the cgroup " + group.path;
  limit.used_bytes = read_number(group.path + (v2 ? "/memory.current" : "/memory.usage_in_bytes")).value_or(0);
  limit.reclaimable_bytes =
      stat.get(prefix + "inactive_file").value_or(0) + stat.get(prefix + "active_file").value_or(0);
  const auto add = [&](std::uint64_t bytes, const char* rule, MemoryLimit::Past past) {
    limit.rule = rule, limit.past = past, limit.limit_bytes = bytes;
    limit.free_bytes = minus(bytes, minus(limit.used_bytes, limit.reclaimable_bytes));
    all.push_back(limit);
  };
  if (hard) add(*hard, v2 ? "memory.max" : "memory.limit_in_bytes", MemoryLimit::Past::kKilled);
  // Past memory.high the kernel throttles the process instead of killing it: no place to work either.
  if (high) add(*high, "memory.high", MemoryLimit::Past::kThrottled);
}

/// A v1 group also tells the least limit of its ancestors, those outside a container included.
void add_hidden_ancestor(const std::vector<CgroupDirectory>& groups, std::vector<MemoryLimit>& all) {
  const auto own = std::find_if(groups.begin(), groups.end(), [](const CgroupDirectory& g) { return g.version == 1; });
  if (own == groups.end()) return;
  const KeyedNumbers stat(own->path + "/memory.stat");
  const auto least = stat.get("hierarchical_memory_limit");
  if (!least || *least >= kUnlimited) return;
  for (const MemoryLimit& limit : all)
    if (limit.rule == "memory.limit_in_bytes" && limit.limit_bytes <= *least) return;  // seen already
  MemoryLimit limit{"a cgroup around " + own->path, "hierarchical_memory_limit", MemoryLimit::Past::kKilled, *least};
  limit.used_bytes = read_number(own->path + "/memory.usage_in_bytes").value_or(0);  // of this group: more is not known
  limit.reclaimable_bytes = stat.get("total_inactive_file").value_or(0) + stat.get("total_active_file").value_or(0);
  limit.free_bytes = minus(*least, minus(limit.used_bytes, limit.reclaimable_bytes));
  all.push_back(limit);
}

std::optional<std::uint64_t> address_space_limit(const MemoryProbe& probe) {
  if (probe.address_space_limit_bytes)
    return *probe.address_space_limit_bytes < kUnlimited ? probe.address_space_limit_bytes : std::nullopt;
  struct rlimit limit {};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

}  // namespace

MemoryLimits list_memory_limits(const MemoryProbe& probe) {
  return list_memory_limits(probe, cgroup_directories("memory", probe.root));
}

MemoryLimits list_memory_limits(const MemoryProbe& probe, const std::vector<CgroupDirectory>& groups) {
  MemoryLimits limits;
  limits.all.push_back(machine(probe.root));
  for (const CgroupDirectory& group : groups) add_group(group, limits.all);
  add_hidden_ancestor(groups, limits.all);
  if (const auto bytes = address_space_limit(probe)) {
    MemoryLimit limit{"this process", "ulimit -v", MemoryLimit::Past::kRefused, *bytes};
    limit.used_bytes = read_keyed_number(probe.root + "/proc/self/status", "VmSize").value_or(0);
    limit.free_bytes = minus(*bytes, limit.used_bytes);
    limits.all.push_back(limit);
  }
  for (std::size_t i = 1; i < limits.all.size(); ++i)
    if (limits.all[i].free_bytes < limits.rules().free_bytes) limits.ruling = i;
  return limits;
}

namespace {

/// The least of what limits leave that refuse addresses, or of those that do not.
std::uint64_t least_free(const MemoryProbe& probe, bool refused) {
  std::uint64_t least = ~std::uint64_t{0};
  for (const MemoryLimit& limit : list_memory_limits(probe).all)
    if ((limit.past == MemoryLimit::Past::kRefused) == refused) least = std::min(least, limit.free_bytes);
  return least;
}

}  // namespace

std::uint64_t memory_for_files_bytes(const MemoryProbe& probe) {
  return least_free(probe, false);
}
std::uint64_t free_address_space_bytes(const MemoryProbe& probe) {
  return least_free(probe, true);
}

std::optional<SharedMemory> shared_memory_size(const std::string& path) {
  struct statvfs facts {};
  if (::statvfs(path.c_str(), &facts) != 0) return std::nullopt;
  const std::uint64_t unit = facts.f_frsize ? facts.f_frsize : facts.f_bsize;
  return SharedMemory{facts.f_blocks * unit, facts.f_bavail * unit};
}

std::uint64_t resident_bytes(const std::string& root) {
  std::ifstream file(root + "/proc/self/statm");
  std::uint64_t size = 0, resident = 0;
  if (!(file >> size >> resident)) return 0;
  return resident * page_bytes();
}

}  // namespace headrace
