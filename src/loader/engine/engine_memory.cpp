// Where an engine's memory comes from, and where it goes: the budget, caches, and other loaders.
#include <fmt/format.h>
#include <headrace/bytes.h>

#include <algorithm>
#include <thread>

#include "base/memory/memory_budget.h"
#include "dataset/dataset_contents.h"
#include "loader/engine/engine_manager.h"
#include "loader/plan/keeping.h"

namespace headrace {

namespace {

constexpr std::uint64_t kLeastToProbe = 16;  // blocks: measuring costs what decoding a few of them does
constexpr std::chrono::seconds kGiving{20};  // for which memory is waited for that a running loader uses
constexpr std::chrono::milliseconds kLook{1};
constexpr int kLooksAtAll = 20;  // before a loader is refused for what others hold
constexpr int kTriesOfSystem = 4;
constexpr std::size_t kNamed = 4;  // of the loaders that hold the memory

bool is_short_of_memory(const Result<EnginePlan>& plan) {
  return plan.ok() ? plan->is_short_of_memory() : plan.error().code() == ErrorCode::kOutOfBudget;
}

/// "loader of train.h5 1.00 GiB, loader of test.h5 0.50 GiB"
std::string name_holders(const std::vector<MemoryBudget::Child>& parts) {
  std::string text;
  for (std::size_t p = 0; p < std::min(parts.size(), kNamed); ++p)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", parts[p].name, format_bytes(parts[p].used_bytes));
  return parts.size() > kNamed ? fmt::format("{} and {} more", text, parts.size() - kNamed) : text;
}

}  // namespace

/// Return what the engine at hand cannot start without. Blocks are kept where there is room for them, but rows that are
/// to be kept whole have to be there.
std::uint64_t EngineManager::needed_bytes() const {
  const std::shared_ptr<const Engine> made = engine();
  const EnginePlan& plan = made->plan();
  const bool keeps_rows = plan.preloads || (plan.tier != CacheTier::kNothing && plan.tier != CacheTier::kSomeBlocks);
  return plan.window_bytes() + (keeps_rows && !cache_ ? plan.cache_bytes : 0);
}

/// \param last  The last of those that give memory for it.
Status EngineManager::reserve(ReclaimRank last) {
  const std::shared_ptr<Engine> made = engine();
  const EnginePlan& plan = made->plan();
  const std::shared_ptr<MemoryBudget> process = MemoryBudget::process();
  const std::string identity = fmt::format("{} {}", data_hash_, to_string(plan.coding));
  if (cache_ && (cache_tier_ != plan.tier || cache_identity_ != identity)) drop_cache();
  if (cache_ && cache_->blocks) cache_->blocks->set_capacity(plan.cache_bytes);
  const std::uint64_t needed = needed_bytes();
  if (const std::uint64_t free = process->free_bytes(); needed > free)
    process->reclaim(needed - free, {ReclaimRank::kIdle, last});
  EngineMemory memory;
  memory.budget = budget_;
  HEADRACE_ASSIGN(memory.slots, budget_->try_reserve(MemoryTag::kWindowSlots, plan.slots * plan.slot_bytes));
  HEADRACE_ASSIGN(memory.index, budget_->try_reserve(MemoryTag::kIndex, plan.index_bytes));
  for (const auto& [tag, bytes] : {std::pair{MemoryTag::kScratch, plan.scratch_bytes + plan.keeping_bytes},
                                   {MemoryTag::kReadBuffers, plan.read_buffer_bytes},
                                   {MemoryTag::kResidentFields, plan.side_bytes()},
                                   {MemoryTag::kStaging, plan.staging_bytes}}) {
    HEADRACE_ASSIGN(MemoryReservation reservation, budget_->try_reserve(tag, bytes));
    memory.others.push_back(std::move(reservation));
  }
  if (!cache_) {
    HEADRACE_ASSIGN(cache_, make_decoded_cache(impl_of(dataset_)->source, plan, options_.cache, data_hash_,
                                               whole_cache_, budget_, notices_));
    const std::lock_guard lock(engine_mutex_);
    kept_blocks_ = cache_->blocks;
    cache_tier_ = plan.tier;
    cache_identity_ = identity;
  }
  made->provide_memory(std::move(memory), cache_);
  return {};
}

/// Try what re-encoding makes of the blocks, once, where that would decide anything.
bool EngineManager::measure_codings() {
  const std::shared_ptr<const Engine> held = engine();
  const EnginePlan& plan = held->plan();
  const bool some = plan.tier == CacheTier::kNothing || plan.tier == CacheTier::kSomeBlocks;
  if (!impl_of(dataset_)->source.rows() || options_.cache.mode != CacheChoice::kAuto || !some || probed_ ||
      plan.blocks->num_blocks() < kLeastToProbe)
    return false;
  probed_ = true;
  probe_ = probe_codings(*impl_of(dataset_), *budget_);
  return probe_.has_value();
}

/// Reserve the engine's memory, if need be from others; with less than it planned for, plan anew.
Status EngineManager::provide_memory() {
  if (engine()->has_memory()) return {};
  if (measure_codings()) HEADRACE_TRY(replan(Reason::kCodingKnown));
  // A plan that was made when there was more memory takes nothing from loaders that are iterated.
  Status first = reserve(ReclaimRank::kKept);
  if (first.ok() || first.error().code() != ErrorCode::kOutOfBudget) return first;
  // Others that start at the same time may be faster: then what there is for it is another. Where the budget has it,
  // and goes on having it, it is the system that has no memory.
  int by_system = 0;
  for (const auto end = std::chrono::steady_clock::now() + kGiving;; std::this_thread::sleep_for(kLook)) {
    HEADRACE_TRY(replan(Reason::kMemoryTaken));
    for (const ReclaimRank last : {ReclaimRank::kRunning, ReclaimRank::kPaused}) {
      Status reserved = reserve(last);
      const bool others_have_it = !reserved.ok() && reserved.error().code() == ErrorCode::kOutOfBudget;
      by_system = others_have_it && budget_->free_bytes() >= needed_bytes() ? by_system + 1 : 0;
      if (!others_have_it || by_system > kTriesOfSystem || std::chrono::steady_clock::now() > end) return reserved;
    }
  }
}

/// What is free, this loader's own memory included, and what others could give, of those ranks.
MemoryRoom EngineManager::room_beside_others(std::initializer_list<ReclaimRanks> ranks) const {
  const std::shared_ptr<MemoryBudget> process = MemoryBudget::process();
  const MemoryBudget::Snapshot all = process->snapshot();
  const std::uint64_t own = budget_->snapshot().used_bytes;
  const std::uint64_t others = all.used_bytes - std::min(own, all.used_bytes);
  const std::uint64_t mine = cache_ && cache_->blocks ? cache_->blocks->usage().bytes : 0;
  const std::uint64_t limit = all.limit_bytes, free = limit - std::min(others, limit);
  std::uint64_t given = 0;
  for (const ReclaimRanks& some : ranks) given += process->reclaimable(some).bytes;
  return {free, std::min(given - std::min(mine, given), limit - free)};
}

/// Plan with the memory that is free, or with loaders that are not iterated; where that is little, with what caches
/// hold, too; and where that is little, with an equal part of what loaders have that are iterated. Only where it cannot
/// be done otherwise they keep three slots; and where that is not enough, nothing.
Result<EnginePlan> EngineManager::plan_beside_others(
    const std::function<Result<EnginePlan>(MemoryRoom)>& resolve) const {
  const std::shared_ptr<MemoryBudget> process = MemoryBudget::process();
  const auto [free, idle] = room_beside_others({kIdle});
  Result<EnginePlan> made = resolve({free, idle});
  if (!is_short_of_memory(made)) return made;
  const std::uint64_t at_rest = room_beside_others({kAtRest}).reclaimable_bytes;
  if (at_rest > idle) made = resolve({free, at_rest});
  const auto running = process->reclaimable({ReclaimRank::kRunning, ReclaimRank::kRunning});
  const std::uint64_t part = process->limit_bytes() / (running.holders + 1);
  const std::uint64_t share = part - std::min(part, free + at_rest);
  if (is_short_of_memory(made) && running.bytes > 0 && share > 0)
    made = resolve({free, at_rest + std::min(share, running.bytes)});
  if (running.bytes > 0 && !made.ok() && made.error().code() == ErrorCode::kOutOfBudget)
    made = resolve({free, at_rest + running.bytes});
  std::uint64_t held = 0, looked_at = 0;
  const auto is_refused = [&] { return !made.ok() && made.error().code() == ErrorCode::kOutOfBudget; };
  for (int look = 0; look < kLooksAtAll && is_refused(); ++look) {  // others that start reserve one after another
    if (look > 0) std::this_thread::sleep_for(kLook);
    const MemoryRoom whole =
        room_beside_others({{ReclaimRank::kCache, ReclaimRank::kCache}, {ReclaimRank::kPaused, ReclaimRank::kPaused}});
    const std::uint64_t could_have = whole.free_bytes + whole.reclaimable_bytes, limit = process->limit_bytes();
    held = limit - std::min(limit, could_have);
    if (std::exchange(looked_at, could_have) != could_have) made = resolve(whole);
    if (held == 0) break;
  }
  if (made.ok() || made.error().needed_bytes() == 0) return made;
  if (held == 0 && made.error().needed_bytes() > process->limit_bytes())
    return Error(ErrorCode::kOutOfBudget, made.error().message())
        .with_file(made.error().file())
        .with_needed_bytes(made.error().needed_bytes())
        .with_hint(fmt::format("The process may use {}: hr.set_memory({}) is the least that will do. {}",
                               format_bytes(process->limit_bytes()), made.error().needed_bytes(), made.error().hint()));
  if (held == 0) return made;
  if (options_.memory != 0 && options_.memory < made.error().needed_bytes()) return made;  // no fault of theirs
  const std::uint64_t least = held + made.error().needed_bytes();
  return Error(ErrorCode::kOutOfBudget,
               fmt::format("{}. Others hold {} that they cannot do without ({})", made.error().message(),
                           format_bytes(held), name_holders(process->parts())))
      .with_file(made.error().file())
      .with_needed_bytes(least)
      .with_hint(fmt::format("Close them, or let the process have more: hr.set_memory({}) (just over {}) is enough "
                             "for all as they are now. {}",
                             least, format_bytes(least), made.error().hint()));
}

// --------------------------------------------------------------------------------------------------- giving memory
// away

std::string EngineManager::other_holders() const {
  std::vector<MemoryBudget::Child> parts = MemoryBudget::process()->parts();
  const auto own = std::find_if(parts.begin(), parts.end(), [&](const MemoryBudget::Child& part) {
    return part.name == budget_->name() && part.used_bytes == budget_->snapshot().used_bytes;
  });
  if (own != parts.end()) parts.erase(own);
  return name_holders(parts);
}

/// In a child of fork() there is nothing to give.
bool EngineManager::is(State now) const {
  return ::getpid() == owner_pid_ && state() == now;
}

std::uint64_t EngineManager::could_give(ReclaimRank rank) const {
  if (::getpid() != owner_pid_ || busy_.is_mine()) return 0;
  // A loader that is being started counts.
  if (rank == ReclaimRank::kPaused) return can_pause() ? bytes_beside_cache() : engine()->could_give();
  const std::unique_lock lock(busy_, std::try_to_lock);
  if (!lock || is(State::kRunning) != (rank == ReclaimRank::kRunning)) return 0;
  if (rank == ReclaimRank::kRunning) return engine()->could_give();
  const std::uint64_t rows = kept_rows_bytes(), all = bytes_beside_cache();
  return rank == ReclaimRank::kKept ? rows : all - std::min(rows, all);
}

std::uint64_t EngineManager::give(ReclaimRank rank, std::uint64_t bytes) {
  if (rank == ReclaimRank::kPaused) return wait_to_pause(bytes);
  const std::unique_lock lock(busy_, std::try_to_lock);
  if (!lock || ::getpid() != owner_pid_ || is(State::kRunning) != (rank == ReclaimRank::kRunning)) return 0;
  return rank == ReclaimRank::kRunning ? engine()->give(bytes, kGiving) : stop_engine(rank == ReclaimRank::kKept);
}

/// Waits while the loader is started, or its consumer is in a call, which ends with a batch.
std::uint64_t EngineManager::wait_to_pause(std::uint64_t bytes) {
  for (const auto end = std::chrono::steady_clock::now() + kGiving;;) {
    if (could_give(ReclaimRank::kPaused) == 0) return 0;
    {
      const std::unique_lock lock(busy_, std::try_to_lock);
      const ConsumerGate::Closed closed(gate_);
      if (lock && closed) return can_pause() ? pause(bytes) : engine()->give(bytes, kGiving);
    }
    if (std::chrono::steady_clock::now() > end) return 0;
    std::this_thread::sleep_for(kLook);
  }
}

/// With Busy.
std::uint64_t EngineManager::kept_rows_bytes() const {
  return cache_ && cache_->rows ? cache_->reservation.bytes() : 0;
}

/// What is held beside decoded blocks, which are asked for by themselves.
std::uint64_t EngineManager::bytes_beside_cache() const {
  std::shared_ptr<const BlockCache> kept;
  {
    const std::lock_guard lock(engine_mutex_);
    kept = kept_blocks_.lock();
  }
  const std::uint64_t all = budget_->snapshot().used_bytes;
  return all - std::min(all, kept ? kept->usage().bytes : 0);
}

/// Rows that a sampler feeds during the epoch are not kept: such a loader cannot begin anew in its middle.
bool EngineManager::can_pause() const {
  return !is(State::kRunning) || !engine()->plan().online;
}

/// Stop the engine in the middle of an epoch; what is kept goes last.
std::uint64_t EngineManager::pause(std::uint64_t bytes) {
  const bool in_epoch = is(State::kRunning);
  const std::uint64_t enough = MemoryBudget::process()->limit_bytes() + bytes;
  std::uint64_t given = stop_engine(false);
  if (given < bytes && kept_rows_bytes() > 0) given += stop_engine(true);
  if (in_epoch && pauses_++ == 0)
    notices_->add(
        Notices::Of::kPlan,
        fmt::format(
            "The memory is not enough for all loaders that are iterated, so they take turns: the loader of {} gave all "
            "that it had to another one in the middle of an epoch, and decodes again what was ready. Now and then, "
            "for a validation, that is fine; where it happens at every batch, hr.set_memory({}) is the least that "
            "both can have at once.",
            impl_of(dataset_)->source.first_path(), enough));
  return given;
}

/// Stop the engine, whose epoch may go on with another. With Busy. \return What that gave.
std::uint64_t EngineManager::stop_engine(bool drops_cache) {
  const std::uint64_t before = budget_->snapshot().used_bytes;
  engine()->stop();
  if (drops_cache) drop_cache();
  (void)replan(Reason::kMemoryGiven);  // where that fails, the next epoch tries again
  return before - std::min(before, budget_->snapshot().used_bytes);
}

}  // namespace headrace
