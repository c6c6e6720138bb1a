#include "loader/engine/engine_manager.h"

#include <fmt/format.h>
#include <headrace/bytes.h>

#include <algorithm>

#include "base/machine/available_memory.h"
#include "base/machine/own_cpus.h"
#include "dataset/dataset_contents.h"
#include "dataset/facts/data_identity.h"
#include "dataset/recipe/refuse.h"
#include "loader/options/group_choice.h"
#include "loader/options/option_rules.h"
#include "loader/plan/keeping.h"
#include "loader/plan/plan_order.h"

namespace headrace {
namespace {

/// Which limit rules the process's budget.
std::string what_limits_memory() {
  const std::uint64_t limit = MemoryBudget::process()->limit_bytes();
  const AvailableMemory available = detect_available_memory();
  if (limit <= available.bytes)
    return fmt::format("the process may use {}, see set_memory(); {} leaves {}", format_bytes(limit),
                       available.limited_by, format_bytes(available.bytes));
  return fmt::format("{} leaves {}", available.limited_by, format_bytes(available.bytes));
}

/// Whether an epoch that is under way could not go on with what is planned.
bool changes_order(EngineManager::Reason reason) {
  using Reason = EngineManager::Reason;
  return reason == Reason::kRank || reason == Reason::kRows || reason == Reason::kShape || reason == Reason::kWeights;
}

Error closed_error() {
  return {ErrorCode::kClosed, "the loader was closed"};
}

}  // namespace

void EngineTotals::add(const Engine& engine) {
  const StageTable more = engine.stages().totals();
  for (std::size_t s = 0; s < stages.size(); ++s) {
    stages[s].ns += more[s].ns;
    stages[s].count += more[s].count;
    stages[s].bytes += more[s].bytes;
  }
  const Engine::Decodes d = engine.decodes();
  decodes.decoded_bytes += d.decoded_bytes;
  decodes.needed_bytes += d.needed_bytes;
  decodes.slow_pieces += d.slow_pieces;
  reading += engine.reading();
  plan_ns += engine.plan_ns();
  slots_planned += engine.slots_planned();
  const BatchMemory::Usage slots = engine.slots();
  peak_slot_bytes = std::max(peak_slot_bytes, slots.peak_bytes);
  peak_held_over_bytes = std::max(peak_held_over_bytes, slots.peak_held_over_bytes);
  const Engine::PeakMemory more_memory = engine.peak_memory();
  peak.scratch_bytes = std::max(peak.scratch_bytes, more_memory.scratch_bytes);
  peak.read_buffer_bytes = std::max(peak.read_buffer_bytes, more_memory.read_buffer_bytes);
  peak.side_bytes = std::max(peak.side_bytes, more_memory.side_bytes);
}

EngineManager::EngineManager(Dataset dataset, LoaderOptions options)
    : dataset_(std::move(dataset)),
      options_(std::move(options)),
      data_hash_(hash_of(impl_of(dataset_)->source, impl_of(dataset_)->layout)),
      budget_(MemoryBudget::process()->child(fmt::format("loader of {}", impl_of(dataset_)->source.first_path()),
                                             options_.memory ? options_.memory : ~std::uint64_t{0} >> 1)) {
  if (options_.order.is<Listed>()) listed_ = listed_rows_of(options_.order);
}

Result<std::shared_ptr<EngineManager>> EngineManager::make(Dataset dataset, LoaderOptions options,
                                                           const std::function<bool()>& go_on) {
  if (dataset.closed()) return Error(ErrorCode::kClosed, "the data set was closed");
  HEADRACE_TRY(check_options(options));
  HEADRACE_TRY(check_samples(impl_of(dataset)->source, options));  // before rows are looked for in a cache directory
  auto manager = std::make_shared<EngineManager>(std::move(dataset), std::move(options));
  if (const auto* balanced = manager->options_.order.get<Balanced>())
    manager->label_ = read_label(manager->dataset_, balanced->by, go_on);
  if (const auto* const choice = std::get_if<Groups>(&manager->options_.batch)) {
    const Dataset& data = manager->dataset_;
    manager->groups_ = find_groups(data, *impl_of(data)->blocks, *choice, go_on, [&](const std::string& notice) {
      manager->notices_->add(Notices::Of::kPlan, notice);
    });
  }
  HEADRACE_ASSIGN(EnginePlan plan, manager->make_plan());
  manager->engine_ = Engine::make(impl_of(manager->dataset_)->source, std::move(plan));
  for (Holder& holder : manager->holders_)
    MemoryBudget::process()->add_reclaimable(std::shared_ptr<Reclaimable>(manager, &holder), holder.rank);
  return manager;
}

std::shared_ptr<Engine> EngineManager::engine() const {
  const std::lock_guard lock(engine_mutex_);
  return engine_;
}

EngineManager::State EngineManager::state() const {
  const std::lock_guard lock(engine_mutex_);
  if (closed_) return State::kClosed;
  if (!engine_->has_memory() || engine_->stopped()) return State::kPlanned;
  if (!engine_->started()) return State::kReserved;
  return done_ || consumer_.expired() ? State::kIdle : State::kRunning;
}

void EngineManager::set_consumer(std::weak_ptr<void> consumer) {
  const std::lock_guard lock(engine_mutex_);
  consumer_ = std::move(consumer);
  done_ = false;
}

EngineTotals EngineManager::totals() const {
  const std::lock_guard lock(engine_mutex_);
  EngineTotals all = ended_;
  all.add(*engine_);
  return all;
}

const DataIdentity& EngineManager::identity() const {
  std::call_once(identified_, [this] {
    const Dataset::Impl& data = *impl_of(dataset_);
    identity_ = identify(data.source, data.layout);
  });
  return identity_;
}

// ----------------------------------------------------------------------------------------------------------- planning

Result<RankChoice> EngineManager::choose_own_rank() const {
  if (framework_rank_) return RankChoice{*framework_rank_, "torch.distributed"};
  return choose_rank(options_.rank, options_.world_size, launcher_variable);
}

void EngineManager::look_for_cache(PlanContext& context) {
  if (options_.cache.mode != CacheChoice::kDirectory) return;
  std::shared_ptr<RowStores> rows = cache_tier_ == CacheTier::kDirectory && cache_ ? cache_->rows : nullptr;
  if (!rows) {
    if (!whole_cache_.rows) whole_cache_ = find_cache(*impl_of(dataset_), options_.cache, data_hash_);
    rows = whole_cache_.rows;
  }
  context.cache_is_whole = rows && (rows == whole_cache_.rows || rows->complete());
  context.gather_ready = rows && rows->complete() && rows->random_access();
  context.directory_in_memory = lies_in_memory(options_.cache.directory);
}

Result<EnginePlan> EngineManager::make_plan() {
  LoaderOptions resolved = options_;
  if (shuffle_ && shuffle_->exact)
    resolved.order = ExactShuffle{};
  else if (shuffle_)
    resolved.order = BlockShuffle{shuffle_->shape};
  PlanContext context;
  HEADRACE_ASSIGN(context.rank, choose_own_rank());
  context.cpus = own_cpus();
  context.label = label();
  context.listed = listed_;
  context.groups = groups_;
  context.lengths = lengths_;
  context.lanes = lanes_;
  context.delivers_weights = delivers_weights_;
  context.probe = probe_ ? &*probe_ : nullptr;
  context.kept_bytes = cache_ && cache_->blocks ? cache_->blocks->usage().bytes : 0;
  look_for_cache(context);
  const auto resolve = [&](MemoryRoom room) {
    context.room = room;
    Result<EnginePlan> plan = resolve_plan(impl_of(dataset_)->source, resolved, context);
    if (plan.ok()) lengths_ = context.lengths = plan->lengths;
    return plan;
  };
  Result<EnginePlan> made = plan_beside_others(resolve);
  if (made.ok() && options_.memory > made->budget_bytes)
    made->warnings.push_back(fmt::format("memory={} is more than this loader can have: {} ({})",
                                         format_bytes(options_.memory), format_bytes(made->budget_bytes),
                                         what_limits_memory()));
  if (made.ok())
    for (const std::string& warning : made->warnings) notices_->add(Notices::Of::kPlan, warning);
  return made;
}

Status EngineManager::replan(Reason reason) {
  const std::shared_ptr<Engine> old = engine();
  if (reason == Reason::kOverLimit) {
    old->stop();
    drop_cache();
  }
  HEADRACE_ASSIGN(EnginePlan plan, make_plan());
  old->stop();  // its memory is the new one's
  std::shared_ptr<Engine> made = Engine::make(impl_of(dataset_)->source, std::move(plan));
  if (changes_order(reason))
    ++order_;
  else
    made->carry(*old);
  reason_ = reason;
  const std::lock_guard lock(engine_mutex_);
  ended_.add(*old);
  engine_ = std::move(made);
  return {};
}

/// What turned out otherwise than the engine's plan says, if anything.
Result<std::optional<EngineManager::Reason>> EngineManager::find_reason() {
  using Found = std::optional<Reason>;
  const std::shared_ptr<const Engine> held = engine();
  const EnginePlan& plan = held->plan();
  HEADRACE_ASSIGN(const RankChoice rank, choose_own_rank());
  if (rank.share != plan.share) return Found(Reason::kRank);
  if (held->stopped()) return Found(Reason::kMemoryGiven);
  if (plan.slots < plan.wanted_slots) {
    const MemoryRoom room = room_beside_others({plan.is_short_of_memory() ? kAtRest : kIdle});
    const std::uint64_t most = room.free_bytes + room.reclaimable_bytes;
    if ((options_.memory ? std::min(options_.memory, most) : most) > plan.budget_bytes / 4 * 5)
      return Found(Reason::kMemoryFree);
  }
  if (!held->has_memory() || !cache_) return Found();
  const MemoryBudget::Snapshot process = MemoryBudget::process()->snapshot();
  if (cache_->rows && cache_->reservation.bytes() > 0 && process.used_bytes > process.limit_bytes)
    return Found(Reason::kOverLimit);
  if (const auto usage = cache_->blocks ? cache_->blocks->usage() : BlockCache::Usage{};
      plan.fits_encoded && usage.refused > 0) {
    if (probe_)
      for (CodingTrial& trial : probe_->trials)
        if (trial.coding == plan.coding) trial.coded_share = std::max(trial.coded_share, usage.coded_share);
    return Found(Reason::kCacheRefused);
  }
  if (plan.gather_ready && cache_->rows && !cache_->rows->complete()) return Found(Reason::kCacheDamaged);
  return Found();
}

// ------------------------------------------------------------------------------------------------ what a loader asks
// for

EngineManager::Busy::Busy(EngineManager& manager) : manager_(manager), lock_(manager.busy_, std::defer_lock) {
  if (manager.busy_.is_mine())
    throw Error(ErrorCode::kInvalidArgument, "this loader is in the middle of another call of this thread")
        .with_hint(
            "A function that the loader calls may itself call state(), report(), explain() and close(), nothing else.");
  lock_.lock();
}

Status EngineManager::read(const std::function<bool()>& asked,
                           const std::function<Status(const std::function<bool()>&)>& work) {
  bool refused = false;
  const auto goes_on = [&] {
    if (asked && !closed()) {
      const BusyLock::Outside outside(busy_);
      refused = !asked();
    }
    return !refused && !closed();
  };
  Status done = work(goes_on);
  const bool ended = done.ok() || (done.error().code() == ErrorCode::kCancelled && !refused);
  return ended && closed() ? closed_error() : done;
}

Status EngineManager::prepare() {
  if (closed()) return closed_error();
  HEADRACE_ASSIGN(const std::optional<Reason> reason, find_reason());
  if (reason) HEADRACE_TRY(replan(*reason));
  HEADRACE_TRY(provide_memory());
  engine()->take_back();
  return {};
}

Status EngineManager::follow_rank() {
  if (state() == State::kRunning || closed_) return {};
  HEADRACE_ASSIGN(const RankChoice rank, choose_own_rank());
  return rank.share == engine()->plan().share ? Status() : replan(Reason::kRank);
}

Result<bool> EngineManager::prepare_preload() {
  if (closed()) return closed_error();
  HEADRACE_ASSIGN(const std::optional<Reason> reason, find_reason());
  bool ended = reason.has_value();
  if (reason) HEADRACE_TRY(replan(*reason));
  const std::shared_ptr<const Engine> now = engine();
  if (now->started() && !now->plan().preloads && !now->has_all_rows()) {  // its threads are past that: others begin so
    HEADRACE_TRY(replan(Reason::kPreload));
    ended = true;
  }
  HEADRACE_TRY(provide_memory());
  return ended;
}

Status EngineManager::set_rows(std::uint64_t epoch, const ListedRows::List& list) {
  if (!listed_) return refuse("this loader's order is not a list of rows");
  HEADRACE_TRY(check_listed(list, engine()->plan().blocks->num_rows()));
  if (listed_->fits(list)) {
    listed_->set(epoch, list);
    return {};
  }
  // Steps and slots follow from the length.
  std::shared_ptr<ListedRows> before = listed_;
  listed_ = std::make_shared<ListedRows>(list, before->every_epoch());
  listed_->set(epoch, list);
  Status made = closed_ ? Status() : replan(Reason::kRows);
  if (!made.ok()) listed_ = std::move(before);
  return made;
}

Status EngineManager::go_on_as(const std::optional<ShuffleOrder>& shuffle, std::uint32_t lanes) {
  const auto [shuffle_before, lanes_before] = std::pair(shuffle_, lanes_);
  if (shuffle) shuffle_ = shuffle;
  if (lanes != 0) lanes_ = lanes;
  Status made = replan(Reason::kShape);
  if (!made.ok()) shuffle_ = shuffle_before, lanes_ = lanes_before;
  return made;
}

Status EngineManager::deliver_weights() {
  delivers_weights_ = true;
  Status made = replan(Reason::kWeights);
  if (!made.ok()) delivers_weights_ = false;
  return made;
}

void EngineManager::close() {
  close_asked_ = true;
  if (!busy_.lock_unless_outside()) return;
  const std::lock_guard lock(busy_, std::adopt_lock);
  end();
}

/// With Busy.
void EngineManager::end() {
  closed_ = true;
  engine()->stop();
  drop_cache();
}

void EngineManager::drop_cache() {
  if (cache_) cache_->release_memory();
  cache_.reset();
}

std::string_view to_string(EngineManager::Reason reason) {
  using Reason = EngineManager::Reason;
  switch (reason) {
    case Reason::kFirst:
      return "";
    case Reason::kRank:
      return "the rank or the number of ranks changed";
    case Reason::kRows:
      return "the sampler lists another number of rows, or other batches";
    case Reason::kShape:
      return "the loaded state has another shuffle";
    case Reason::kWeights:
      return "the last step of the resumed epoch has fewer samples than there are ranks";
    case Reason::kPreload:
      return "preload() was called after the first epoch";
    case Reason::kCodingKnown:
      return "the first epoch has measured the size of re-encoded blocks";
    case Reason::kCacheRefused:
      return "re-encoded blocks are larger than the first ones were: not all of them fit";
    case Reason::kCacheDamaged:
      return "blocks of the cache directory are damaged";
    case Reason::kMemoryTaken:
      return "other loaders use memory that this loader was planned with";
    case Reason::kOverLimit:
      return "the process used more memory than its limit";
    case Reason::kMemoryGiven:
      return "this loader gave memory to other loaders";
    case Reason::kMemoryFree:
      return "other loaders use less memory than before";
  }
  return "";
}

}  // namespace headrace
