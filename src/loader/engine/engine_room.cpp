// How much of its plan's memory a running engine holds: as its cache grows the window gives way, and what other loaders
// need goes to them, until they need it no more.
#include <algorithm>
#include <exception>

#include "base/clock.h"
#include "delivery/slot_pool.h"
#include "loader/engine/engine.h"

namespace headrace {
namespace {

constexpr std::uint64_t kStaying = SlotPool::kHeldSlots + 1;  // with the consumer, and the batch that comes next
constexpr std::uint64_t kBlocksAhead = 4;                     // a thread: room for them is made before they are there

}  // namespace

/// As the cache grows, the window gives way: a block that is kept is not decoded again, however short the window is.
void Engine::make_room() {
  if (gives_late_.load(std::memory_order_relaxed)) finish_giving();
  if (slots_bytes_.load(std::memory_order_relaxed) <= plan_.direct_window_slots() * plan_.slot_bytes) return;
  if (gather_ready_.load(std::memory_order_relaxed)) return limit_slots(plan_.slots);
  const BlockCache* const blocks = plan_.fits_encoded ? decoded_cache_->blocks.get() : nullptr;
  if (blocks && blocks->is_short_of_room(kBlocksAhead * plan_.threads, plan_.layout.most_stored_rows())) limit_slots(1);
}

/// Do with `step` slots fewer, once what was given up before has come back, and hand that to the cache, or to others.
void Engine::limit_slots(std::uint64_t step) {
  const std::unique_lock lock(room_mutex_, std::try_to_lock);
  if (!lock || !has_memory_) return;
  if (slots_memory_.bytes() == slots_ * plan_.slot_bytes) {
    wanted_slots_ = std::max(wanted_slots_ - std::min(step, wanted_slots_.load()), plan_.direct_window_slots());
    set_slots(std::min(slots_.load(), wanted_slots_.load()));
  }
  const std::uint64_t freed = fit_memory();
  BlockCache* const blocks = decoded_cache_->blocks.get();
  if (freed == 0 || !blocks) return;
  cache_bytes_ += freed;
  blocks->set_capacity(blocks->capacity_bytes() + freed);
  if (slots_bytes_ <= plan_.direct_window_slots() * plan_.slot_bytes) blocks->set_growing(false);
}

/// With the lock.
void Engine::set_slots(std::uint64_t slots) {
  slots_ = slots;
  memory_->limit_slots(slots);
  window_.limit_slots(slots);
}

/// Hold no more than the slots there may be take, or than is still in use. With the lock. \return What was given back.
std::uint64_t Engine::fit_memory() {
  const BatchMemory::Usage now = memory_->usage();
  const std::uint64_t in_use = now.allocated_bytes - std::min(now.held_over_bytes, now.allocated_bytes);
  const std::uint64_t left = std::max(slots_ * plan_.slot_bytes, in_use);
  if (left >= slots_memory_.bytes()) return 0;
  const std::uint64_t freed = slots_memory_.bytes() - left;
  if (!slots_memory_.resize(left).ok()) return 0;
  slots_bytes_ = left;
  return freed;
}

std::uint64_t Engine::could_give() const {
  const std::uint64_t slots = slots_;
  return has_memory_ && !stopped_ ? (slots - std::min(slots, kStaying)) * slot_and_index_bytes() : 0;
}

std::uint64_t Engine::give(std::uint64_t bytes, std::chrono::nanoseconds limit) {
  const std::lock_guard lock(room_mutex_);
  if (could_give() == 0) return 0;
  const std::uint64_t before = slots_memory_.bytes() + index_memory_.bytes();
  const std::uint64_t slots = bytes / slot_and_index_bytes() + 1;
  has_given_ = true;
  set_slots(std::max(slots_ - std::min<std::uint64_t>(slots, slots_), std::min(kStaying, slots_.load())));
  gives_late_ = !window_.shrink(slots_ - SlotPool::kHeldSlots, limit);
  fit_memory();
  (void)index_memory_.resize(plan_.index_bytes - (plan_.slots - slots_) * plan_.slot_index_bytes);
  return before - slots_memory_.bytes() - index_memory_.bytes();
}

/// A claim that give() did not wait for has ended, perhaps.
void Engine::finish_giving() {
  const std::unique_lock lock(room_mutex_, std::try_to_lock);
  if (!lock) return;
  fit_memory();
  gives_late_ = slots_memory_.bytes() > slots_ * plan_.slot_bytes;
}

void Engine::take_back() {
  if (has_given_) take_slots_back();
  if (!has_given_ && has_given()) kept_blocks_->take_back(cache_bytes_);
}

void Engine::take_slots_back() {
  const std::uint64_t slot = slot_and_index_bytes();
  // Without the lock: others may be giving memory to this engine's loader, or be asked by it.
  const std::uint64_t missing = (wanted_slots_ - std::min(slots_.load(), wanted_slots_.load())) * slot;
  const std::uint64_t free = budget_->free_bytes();
  if (missing > free) MemoryBudget::process()->reclaim(missing - free, {ReclaimRank::kIdle, ReclaimRank::kIdle});
  const std::unique_lock lock(room_mutex_, std::try_to_lock);
  if (!lock || stopped_) return;
  const std::uint64_t slots = std::min(slots_ + budget_->free_bytes() / slot, wanted_slots_.load());
  const std::uint64_t slots_bytes = std::max(slots * plan_.slot_bytes, slots_memory_.bytes());
  if (slots > slots_ && index_memory_.resize(plan_.index_bytes - (plan_.slots - slots) * plan_.slot_index_bytes).ok() &&
      slots_memory_.resize(slots_bytes).ok()) {
    slots_bytes_ = slots_bytes;
    set_slots(slots);
  }
  if (slots_ >= wanted_slots_ && !gives_late_) has_given_ = false;
}

}  // namespace headrace
