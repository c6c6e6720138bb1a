#include "base/machine/available_memory.h"

#include "base/machine/memory_limits.h"

namespace headrace {

AvailableMemory detect_available_memory(const MemoryProbe& probe) {
  const MemoryLimits limits = list_memory_limits(probe);
  const MemoryLimit& rules = limits.rules();
  if (rules.rule == "MemAvailable") return {rules.free_bytes, "the machine's MemAvailable"};
  if (rules.rule == "ulimit -v") return {rules.free_bytes, rules.rule};
  return {rules.free_bytes, rules.where};
}

}  // namespace headrace
