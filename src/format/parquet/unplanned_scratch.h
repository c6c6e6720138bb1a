// Memory that no loader's plan has, as its size is known only when a page has been read.
#pragma once

#include "base/memory_budget.h"
#include "base/page_buffer.h"

namespace headrace::parquet {

/// How much of it may lie beyond the process's budget: an epoch is not to end for the kilobytes of a dictionary.
inline constexpr std::uint64_t kBeyondBudgetBytes = std::uint64_t{32} << 20;

/// Return memory of the process's budget, for a short time. Caches give theirs for it; where that is not enough, it may
/// lie beyond. Errors: kOutOfBudget. Threads: any that hold no cache's lock.
inline Result<PageBuffer> unplanned_scratch(std::uint64_t bytes) {
  const std::shared_ptr<MemoryBudget> budget = MemoryBudget::process();
  const auto allocate = [&] { return PageBuffer::allocate(*budget, MemoryTag::kScratch, bytes); };
  Result<PageBuffer> made = allocate();
  if (made.ok() || made.error().code() != ErrorCode::kOutOfBudget) return made;
  if (budget->reclaim(PageBuffer::charge_for(bytes), {ReclaimRank::kCache, ReclaimRank::kCache}) > 0) made = allocate();
  if (made.ok()) return made;
  static MemoryBudget& beyond = **new std::shared_ptr(MemoryBudget::create("beyond the budget", kBeyondBudgetBytes));
  Result<PageBuffer> over = PageBuffer::allocate(beyond, MemoryTag::kScratch, bytes);
  return over.ok() ? std::move(over) : std::move(made);
}

}  // namespace headrace::parquet
