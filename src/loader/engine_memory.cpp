// Where an engine's memory comes from, and where it goes: the budget, caches, and loaders that are not iterated.
#include <fmt/format.h>

#include "base/memory_budget.h"
#include "dataset/dataset_contents.h"
#include "loader/engine_manager.h"
#include "loader/keeping.h"

namespace headrace {

namespace {

constexpr std::uint64_t kLeastToProbe = 16;  // blocks: measuring costs what decoding a few of them does

}  // namespace

Status EngineManager::reserve() {
  const std::shared_ptr<Engine> made = engine();
  const EnginePlan& plan = made->plan();
  const std::shared_ptr<MemoryBudget> process = MemoryBudget::process();
  const std::string identity = fmt::format("{} {}", data_hash_, to_string(plan.coding));
  if (cache_ && (cache_tier_ != plan.tier || cache_identity_ != identity)) cache_.reset();
  if (cache_ && cache_->blocks) cache_->blocks->set_capacity(plan.cache_bytes);
  // Only a window takes what others keep.
  const std::uint64_t needed = plan.window_bytes();
  if (const std::uint64_t free = process->free_bytes(); needed > free) process->reclaim(needed - free);
  std::vector<MemoryReservation> reservations;
  for (const auto& [tag, bytes] : {std::pair{MemoryTag::kWindowSlots, plan.slots * plan.slot_bytes},
                                   {MemoryTag::kScratch, plan.scratch_bytes + plan.keeping_bytes},
                                   {MemoryTag::kReadBuffers, plan.read_buffer_bytes},
                                   {MemoryTag::kResidentFields, plan.side_bytes()},
                                   {MemoryTag::kIndex, plan.index_bytes},
                                   {MemoryTag::kStaging, plan.staging_bytes}}) {
    HEADRACE_ASSIGN(MemoryReservation reservation, budget_->try_reserve(tag, bytes));
    reservations.push_back(std::move(reservation));
  }
  if (!cache_) {
    HEADRACE_ASSIGN(cache_, make_decoded_cache(*dataset_.impl()->source.stored()[0], plan, options_.cache, data_hash_,
                                               whole_cache_, budget_, notices_));
    cache_tier_ = plan.tier;
    cache_identity_ = identity;
  }
  made->provide_memory(std::move(reservations), cache_);
  return {};
}

/// Try what re-encoding makes of the blocks, once, where that would decide anything.
bool EngineManager::measure_codings() {
  const std::shared_ptr<const Engine> held = engine();
  const EnginePlan& plan = held->plan();
  const bool some = plan.tier == CacheTier::kNothing || plan.tier == CacheTier::kSomeBlocks;
  if (!dataset_.impl()->source.rows() || options_.cache.mode != CacheChoice::kAuto || !some || probed_ ||
      plan.blocks->num_blocks() < kLeastToProbe)
    return false;
  probed_ = true;
  probe_ = probe_codings(*dataset_.impl(), *budget_);
  return probe_.has_value();
}

/// Reserve the engine's memory, if need be from caches and idle loaders; with less than it planned for, plan anew.
Status EngineManager::provide_memory() {
  if (engine()->has_memory()) return {};
  if (!budget_)
    budget_ = MemoryBudget::process()->child("loader", options_.memory ? options_.memory : ~std::uint64_t{0} >> 1);
  if (measure_codings()) HEADRACE_TRY(replan(Reason::kCodingKnown));
  if (const Status first = reserve(); first.ok() || first.error().code() != ErrorCode::kOutOfBudget) return first;
  HEADRACE_TRY(replan(Reason::kMemoryTaken));
  return reserve();
}

// --------------------------------------------------------------------------------------------------- giving memory
// away

bool EngineManager::may_give() const {
  const State now = state();
  return now == State::kReserved || now == State::kIdle;
}

std::uint64_t EngineManager::reclaimable_bytes() const {
  const std::unique_lock lock(busy_, std::try_to_lock);  // not of its own thread: that one is starting an epoch
  return lock && may_give() ? budget_->snapshot().used_bytes : 0;
}

std::uint64_t EngineManager::reclaim(std::uint64_t bytes) {
  const std::unique_lock lock(busy_, std::try_to_lock);
  if (!lock || !may_give()) return 0;
  const std::uint64_t before = budget_->snapshot().used_bytes;
  engine()->stop();
  const std::uint64_t window = before - std::min(before, budget_->snapshot().used_bytes);
  if (window < bytes) drop_cache();    // what is kept goes last
  (void)replan(Reason::kMemoryGiven);  // where that fails, the next epoch tries again
  return before - std::min(before, budget_->snapshot().used_bytes);
}

}  // namespace headrace
