// How much memory this process could really take now, whatever the machine has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace headrace {

struct AvailableMemory {
  std::uint64_t bytes = 0;
  std::string limited_by;  ///< "the machine's MemAvailable", "the cgroup PATH", "ulimit -v": for messages.
};

struct MemoryProbe {
  std::string root;  ///< Put before /proc and /sys paths, for tests.
  /// RLIMIT_AS in bytes; nullopt asks the system.
  std::optional<std::uint64_t> address_space_limit_bytes = std::nullopt;
};

/// Return the least of MemAvailable (/proc/meminfo), RLIMIT_AS less the address space in use, and for the process's
/// cgroup and every ancestor (v1 and v2) limit - usage + page cache that the kernel would drop (active and inactive
/// file pages of memory.stat). memory_limits.h lists them all.
AvailableMemory detect_available_memory(const MemoryProbe& probe = {});

}  // namespace headrace
