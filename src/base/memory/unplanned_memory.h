// Memory that no loader's plan has, as its size is known only when a part of a file has been read.
#pragma once

#include "base/memory/memory_budget.h"
#include "base/memory/page_buffer.h"

namespace headrace {

/// How much of it may lie beyond the process's budget: an epoch is not to end for the kilobytes of a dictionary.
inline constexpr std::uint64_t kBeyondBudgetBytes = std::uint64_t{32} << 20;

/// Hold a part of the process's budget, for which idle loaders and caches give theirs. Errors: kOutOfBudget.
/// Threads: any that hold no cache's lock.
Result<MemoryReservation> reserve_unplanned(MemoryTag tag, std::uint64_t bytes);

/// A part of the process's budget that grows with what is found. Move-only. Threads: one at a time.
class GrowingReservation {
 public:
  /// \param free_bytes  That are not worth counting: the budget is asked for what is more.
  explicit GrowingReservation(MemoryTag tag, std::uint64_t free_bytes = 0) : tag_(tag), free_bytes_(free_bytes) {}
  /// Count bytes that will be taken. The budget is asked in steps of a MiB. Errors: kOutOfBudget.
  Status add(std::uint64_t bytes);

 private:
  MemoryTag tag_;
  std::uint64_t free_bytes_, used_bytes_ = 0;
  MemoryReservation held_;
};

/// Return memory of the process's budget. Caches give theirs for it; where that is not enough, it may lie beyond.
/// Errors: kOutOfBudget. Threads: any that hold no cache's lock.
Result<PageBuffer> unplanned_memory(MemoryTag tag, std::uint64_t bytes);

}  // namespace headrace
