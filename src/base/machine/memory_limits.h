// Every limit on memory that holds for this process, and which of them rules: for reports that say why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/machine/available_memory.h"
#include "base/machine/cgroup.h"

namespace headrace {

struct MemoryLimit {
  /// Effect of exceeding the limit.
  enum class Past : std::uint8_t {
    kKilled,     ///< The kernel kills the process (machine, memory.max).
    kThrottled,  ///< The kernel slows it down until it hardly moves (memory.high).
    kRefused,    ///< Allocations fail (ulimit -v).
  };
  std::string where;  ///< "the machine", "the cgroup PATH", "this process".
  std::string rule;   ///< "MemAvailable", "memory.max", "memory.high", "memory.limit_in_bytes", "ulimit -v", …
  Past past = Past::kKilled;
  std::uint64_t limit_bytes = 0, used_bytes = 0;
  std::uint64_t reclaimable_bytes = 0;  ///< Part of those in use: page cache that the kernel would drop.
  std::uint64_t free_bytes = 0;         ///< That may still be taken.
};

struct MemoryLimits {
  std::vector<MemoryLimit> all;  ///< The machine first, then cgroups from the innermost outwards, then ulimit.
  std::size_t ruling = 0;        ///< Index of the one that leaves least.
  [[nodiscard]] const MemoryLimit& rules() const { return all[ruling]; }
};

/// List what limits this process's memory; costs about 0.1 ms. Groups without a limit are not listed.
MemoryLimits list_memory_limits(const MemoryProbe& probe = {});
/// As above, for groups that are known already: costs half.
MemoryLimits list_memory_limits(const MemoryProbe& probe, const std::vector<CgroupDirectory>& groups);

/// Return what the page cache could hold now, at most: the least of all limits but ulimit -v.
std::uint64_t memory_for_files_bytes(const MemoryProbe& probe = {});
/// Return the addresses that ulimit -v leaves; 2^64 - 1 if it does not limit.
std::uint64_t free_address_space_bytes(const MemoryProbe& probe = {});

/// Size of a tmpfs such as /dev/shm; nullopt where there is none.
struct SharedMemory {
  std::uint64_t size_bytes = 0, free_bytes = 0;
};
std::optional<SharedMemory> shared_memory_size(const std::string& path = "/dev/shm");

/// Return the resident bytes of this process (/proc/self/statm; 20 us); 0 if unknown.
std::uint64_t resident_bytes(const std::string& root = "");

}  // namespace headrace
