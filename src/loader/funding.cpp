// Where an engine's memory comes from: the budget, caches, and loaders that nobody iterates.
#include <fmt/format.h>

#include "base/memory_budget.h"
#include "loader/dataset_impl.h"
#include "loader/keeping.h"
#include "loader/loader_impl.h"

namespace headrace {

namespace {

constexpr std::uint64_t kLeastToProbe = 16;  // blocks: measuring costs what decoding a few of them does

}  // namespace

Status Loader::Impl::reserve(Engine& made) {
  const EnginePlan& plan = made.plan();
  const std::shared_ptr<MemoryBudget> process = MemoryBudget::process();
  const std::string identity = fmt::format("{} {}", data_hash, to_string(plan.coding));
  if (kept && (kept_as != plan.keep || kept_identity != identity)) kept.reset();
  make_budget();
  if (kept && kept->blocks) kept->blocks->set_capacity(plan.cache_bytes);
  // Only a window takes what others keep.
  const std::uint64_t needed = plan.window_bytes();
  if (const std::uint64_t free = process->free_bytes(); needed > free) process->reclaim(needed - free);
  std::vector<MemoryReservation> reservations;
  for (const auto& [tag, bytes] : {std::pair{MemoryTag::kWindowSlots, plan.slots * plan.slot_bytes},
                                   {MemoryTag::kScratch, plan.scratch_bytes + plan.keeping_bytes},
                                   {MemoryTag::kReadBuffers, plan.read_buffer_bytes},
                                   {MemoryTag::kResidentFields, plan.side_bytes()},
                                   {MemoryTag::kIndex, plan.index_bytes}}) {
    HEADRACE_ASSIGN(MemoryReservation reservation, budget->try_reserve(tag, bytes));
    reservations.push_back(std::move(reservation));
  }
  if (!kept) {
    HEADRACE_ASSIGN(kept, make_keeper(*dataset.impl()->source, plan, options.cache, data_hash, whole_cache, budget));
    kept_as = plan.keep;
    kept_identity = identity;
  }
  made.fund(std::move(reservations), kept);
  return {};
}

void Loader::Impl::make_budget() {
  if (!budget)
    budget = MemoryBudget::process()->child("loader", options.memory ? options.memory : ~std::uint64_t{0} >> 1);
}

Status Loader::Impl::fund() {
  if (engine->funded()) return {};
  const EnginePlan& plan = engine->plan();
  const bool some = plan.keep == Keep::kNothing || plan.keep == Keep::kSomeBlocks;
  if (options.cache.mode == CacheChoice::kAuto && some && !probed && plan.layout.table->num_blocks() >= kLeastToProbe) {
    probed = true;
    make_budget();
    probe = probe_codings(*dataset.impl(), *budget);
    if (probe) {
      HEADRACE_ASSIGN(engine, make_engine(resumed_mix));
    }
  }
  if (const Status first = reserve(*engine.get()); first.ok() || first.error().code() != ErrorCode::kOutOfBudget)
    return first;
  HEADRACE_ASSIGN(engine, make_engine(resumed_mix));  // others have taken memory since it was planned
  return reserve(*engine.get());
}

bool IdleLoader::idle() const {
  return loader_ && loader_->engine && loader_->engine->funded() && !loader_->closed && loader_->live_epoch.expired();
}

/// Not its own thread: that one is starting an epoch.
std::unique_lock<std::mutex> IdleLoader::try_lock() const {
  if (owner_ == std::this_thread::get_id()) return {};
  return std::unique_lock(mutex_, std::try_to_lock);
}

void IdleLoader::detach() {
  const std::lock_guard lock(mutex_);
  loader_ = nullptr;
}

std::uint64_t IdleLoader::reclaimable_bytes() const {
  const auto lock = try_lock();
  return lock && idle() && loader_->budget ? loader_->budget->snapshot().used_bytes : 0;
}

std::uint64_t IdleLoader::reclaim(std::uint64_t bytes) {
  const auto lock = try_lock();
  if (!lock || !idle() || !loader_->budget) return 0;
  const Owner owner(owner_);  // planning anew asks everybody what could be had, this loader too
  const std::shared_ptr<MemoryBudget> budget = loader_->budget;
  const std::uint64_t before = budget->snapshot().used_bytes;
  loader_->engine->stop();
  const std::uint64_t window = before - std::min(before, budget->snapshot().used_bytes);
  if (window < bytes && loader_->kept) {  // what is kept goes last
    loader_->kept->let_go();
    loader_->kept.reset();
  }
  Result<std::shared_ptr<Engine>> unfunded = loader_->make_engine(loader_->resumed_mix);
  if (unfunded.ok()) loader_->engine = std::move(*unfunded);
  return before - std::min(before, budget->snapshot().used_bytes);
}

}  // namespace headrace
