// The processors that this process has for itself, where a launcher started several like it on the host.
#pragma once

#include <cstdint>
#include <string>

namespace headrace {

struct OwnCpus {
  std::uint32_t count = 1;  ///< At least 1.
  std::string reason;       ///< "this process's share of 64 processors: …"; why there are as many.
};

/// Return this process's share of the processors that it may use: count_local_processes() divide them, as they do the
/// host's memory.
OwnCpus own_cpus();

}  // namespace headrace
