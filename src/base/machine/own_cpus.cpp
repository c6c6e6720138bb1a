#include "base/machine/own_cpus.h"

#include <fmt/format.h>

#include "base/machine/cpu_count.h"
#include "base/machine/local_processes.h"

namespace headrace {

OwnCpus own_cpus() {
  const LocalProcesses local = count_local_processes();
  const int share = usable_cpu_count({.local_processes = local.count}), all = usable_cpu_count();
  OwnCpus own{static_cast<std::uint32_t>(share), "the processors this process may use"};
  if (share < all)
    own.reason = fmt::format("this process's share of {} processors: {} processes on this host, says {}", all,
                             local.count, local.reason);
  return own;
}

}  // namespace headrace
