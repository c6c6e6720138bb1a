#include "base/memory/unplanned_memory.h"

#include <algorithm>

namespace headrace {

Result<MemoryReservation> reserve_unplanned(MemoryTag tag, std::uint64_t bytes) {
  const std::shared_ptr<MemoryBudget> budget = MemoryBudget::process();
  Result<MemoryReservation> made = budget->try_reserve(tag, bytes);
  if (made.ok()) return made;
  const std::uint64_t missing = bytes - std::min(bytes, budget->free_bytes());
  if (budget->reclaim(missing, {ReclaimRank::kIdle, ReclaimRank::kCache}) >= missing)
    made = budget->try_reserve(tag, bytes);
  return made;
}

Status GrowingReservation::add(std::uint64_t bytes) {
  constexpr std::uint64_t kStepBytes = 1 << 20;
  used_bytes_ += bytes;
  if (used_bytes_ <= free_bytes_ + held_.bytes()) return {};
  const std::uint64_t wanted = used_bytes_ - free_bytes_ + kStepBytes;
  if (held_.bytes() == 0) {
    HEADRACE_ASSIGN(held_, reserve_unplanned(tag_, wanted));
    return {};
  }
  HEADRACE_ASSIGN(MemoryReservation more, reserve_unplanned(tag_, wanted - held_.bytes()));
  more.release();  // for a moment, so that one reservation holds it all
  return held_.resize(wanted);
}

Result<PageBuffer> unplanned_memory(MemoryTag tag, std::uint64_t bytes) {
  const std::shared_ptr<MemoryBudget> budget = MemoryBudget::process();
  const auto allocate = [&] { return PageBuffer::allocate(*budget, tag, bytes); };
  Result<PageBuffer> made = allocate();
  if (made.ok() || made.error().code() != ErrorCode::kOutOfBudget) return made;
  if (budget->reclaim(PageBuffer::charge_for(bytes), {ReclaimRank::kCache, ReclaimRank::kCache}) > 0) made = allocate();
  if (made.ok()) return made;
  static MemoryBudget& beyond = **new std::shared_ptr(MemoryBudget::create("beyond the budget", kBeyondBudgetBytes));
  Result<PageBuffer> over = PageBuffer::allocate(beyond, tag, bytes);
  return over.ok() ? std::move(over) : std::move(made);
}

}  // namespace headrace
