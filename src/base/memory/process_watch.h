// The process's budget follows what the machine really has: a limit that was lowered, other programs that took memory.
#pragma once

#include <cstdint>

namespace headrace {

/// Look, at most once a second for all callers (0.1 ms), and set the limit of MemoryBudget::process(); caches give back
/// what is held beyond it. Threads: any.
void watch_process_memory(std::uint64_t now_ns);

}  // namespace headrace
