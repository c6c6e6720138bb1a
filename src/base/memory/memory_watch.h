// MemoryWatch: notices while the program runs that there is less memory than there was, and that there is enough again.
//
// A limit may be lowered (docker update, Slurm), and other processes take memory too. A process that keeps to a budget
// measured an hour ago is killed by the kernel all the same.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/machine/available_memory.h"
#include "base/machine/cgroup.h"

namespace headrace {

/// Threads: one at a time. Blocks: never.
class MemoryWatch {
 public:
  static constexpr std::uint64_t kInterval_ns = 1'000'000'000;
  /// \param budget_bytes  What the process may hold while nothing is short.
  explicit MemoryWatch(std::uint64_t budget_bytes, MemoryProbe probe = {});

  /// Return what the process's budget should be from now on, where that has changed: less than `budget_bytes` while
  /// what is free and what Headrace holds itself are together smaller, `budget_bytes` again when they have grown. Looks
  /// at the system at most once in kInterval_ns (about 0.1 ms); nullopt otherwise. \param held_bytes  Charged to the
  /// process's budget now. Never more than what is resident is counted: memory that
  ///        was reserved and not touched yet is free in the system's books.
  std::optional<std::uint64_t> check(std::uint64_t now_ns, std::uint64_t held_bytes);
  /// Note that the user set the budget anew.
  void set_budget(std::uint64_t budget_bytes);

  /// Return what a budget should be when `headroom_bytes` could be held in all: the rule alone. \param current  The
  /// budget now.
  static std::uint64_t next_budget(std::uint64_t budget_bytes, std::uint64_t headroom_bytes, std::uint64_t current);

 private:
  const MemoryProbe probe_;
  std::uint64_t budget_bytes_, current_bytes_;
  std::optional<std::uint64_t> looked_ns_, found_groups_ns_;
  std::vector<CgroupDirectory> groups_;
};

}  // namespace headrace
