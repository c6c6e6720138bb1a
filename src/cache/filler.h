// The filler of a block: a process, as one word in memory that processes share.
#pragma once

#include <cstdint>

namespace headrace {

/// Return the word of this process: its pid in the low 22 bits (more than Linux hands out) and 8 bits of the time when
/// it was started, so that a process with the pid of a dead one is told from it. Never 0; bits 30 and 31 are free.
/// Right in a forked child as well. Threads: any.
std::uint32_t filler_of_this_process();

/// Return false if the process of that word is surely gone, or a zombie. Some microseconds.
bool filler_is_alive(std::uint32_t filler);

/// Return a number that is equal in processes that can judge each other by their pids: one boot of one kernel, one pid
/// namespace. Never 0.
std::uint64_t pid_namespace_id();

}  // namespace headrace
