#include "loader/engine/engine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <exception>

#include "assembly/copying/finisher.h"
#include "base/machine/available_memory.h"
#include "base/thrown.h"
#include "delivery/slot_arena.h"
#include "delivery/slot_pool.h"
#include "loader/engine/engine_thread.h"
#include "loader/plan/derived_columns.h"

namespace headrace {

namespace {

/// Sum every row of the data set once: what an epoch must add up to.
RowSums sums_of(const BlockTable& blocks) {
  if (!blocks.is_chosen()) return RowSums::of_all(blocks.num_rows());
  RowSums sums;
  const std::span<const std::uint64_t> words = blocks.chosen()->words();
  for (std::uint64_t w = 0; w < words.size(); ++w)
    for (std::uint64_t left = words[w]; left != 0; left &= left - 1)
      sums.add(w * 64 + static_cast<std::uint64_t>(std::countr_zero(left)));
  return sums;
}

/// What an engine tells its window while it runs.
struct Flags {
  const std::atomic<bool>&gather_ready, &keeps_blocks, &has_uncached;
};

/// What is done with batches once their bytes are in place; null: nothing.
const Finisher* finisher_of(const SampleSource& source, const EnginePlan& plan) {
  return plan.padding ? plan.padding.get() : source.finisher();
}

RequestWindow::Options window_options(const SampleSource& source, const EnginePlan& plan, const Flags& flags,
                                      UnitListener& listener) {
  const Finisher* const finisher = finisher_of(source, plan);
  const Finishing finishing = finisher ? finisher->finishing() : Finishing{};
  if (const MappedSource* const mapped = source.mapped())
    return {.max_slots = plan.slots,
            .keep_samples = plan.delivers_row_ids || plan.padding || plan.delivers_valid,
            .map = mapped->map,
            .span_slots = plan.draws_samples() ? plan.visit_slots() : plan.steps->span_steps(),
            .seed = plan.seed,
            .padded = plan.padding != nullptr,
            .finishing = finishing,
            .row_weight = 1,
            .gather_ready = &flags.gather_ready,
            .direct_window_slots = plan.direct_window_slots(),
            .tells_ahead = plan.tier == CacheTier::kSomeBlocks,
            .listener = &listener};
  return {.max_slots = plan.slots,
          .keep_samples = plan.delivers_row_ids,
          .span_slots = plan.steps->span_steps(),
          .finishing = finishing,
          .row_weight = row_weight(source.rows()->columns->size()),
          .gather_ready = &flags.gather_ready,
          .direct_window_slots = plan.direct_window_slots(),
          .blocks_are_kept = &flags.keeps_blocks,
          .tells_ahead = plan.tier == CacheTier::kSomeBlocks,
          .has_spare_work = &flags.has_uncached,
          .listener = &listener};
}

/// Return how much is read ahead into the page cache: it should be there still when it is asked for.
std::uint64_t most_cached_bytes() {
  constexpr std::uint64_t kMost = 256 << 20, kShare = 8;
  return std::min(kMost, detect_available_memory().bytes / kShare);
}

/// Memory for the batches of a plan: slots of one size, or of the sizes that the map says.
std::shared_ptr<BatchMemory> make_batch_memory(const SampleSource& source, const EnginePlan& plan,
                                               const std::shared_ptr<const std::vector<Field>>& batch_fields) {
  if (const MappedSource* const mapped = source.mapped())
    return std::make_shared<SlotArena>(slot_fields(*mapped), plan.slots, plan.slot_bytes, batch_fields);
  const Source& rows = *source.rows();
  return std::make_shared<SlotPool>(std::make_shared<const std::vector<Field>>(rows.slot_fields()), batch_fields,
                                    plan.slot_rows(), plan.slots, rows.num_staged());
}

}  // namespace

Engine::Engine(SampleSource source, EnginePlan plan, ThreadStarter starter)
    : source_(std::move(source)),
      plan_(std::move(plan)),
      start_thread_(std::move(starter)),
      claims_(plan_.blocks->num_blocks(), plan_.sampler->num_samples()),
      asked_blocks_(plan_.num_units()),
      uncached_(plan_.blocks->num_blocks()),
      owner_pid_(::getpid()),
      fields_(headrace::batch_fields(source_, plan_)),
      memory_(make_batch_memory(source_, plan_, fields_)),
      ahead_(UnitLocator(source_, plan_.layout, plan_.blocks),
             {.threads = plan_.threads,
              .reads_in_flight = plan_.reads_in_flight,
              .held_bytes = plan_.held_ahead_bytes,
              .cached_bytes = most_cached_bytes(),
              .is_kept = [this](std::uint32_t unit) { return decoded_cache_->has(unit); },
              .asked_rows = asked_rows()},
             start_thread_),
      window_(plan_.steps, plan_.blocks,
              window_options(source_, plan_, {gather_ready_, keeps_blocks_, uncached_.any()}, ahead_), *memory_),
      side_chunks_(plan_.side_chunks_bytes) {
  memory_->set_release_callback([this] { window_.memory_released(); });
  for (std::uint32_t t = 0; t < plan_.threads; ++t)
    decoders_.push_back(
        std::make_unique<DecodeThread>(board_.add_thread(), source_, plan_.layout, resident_, side_chunks_));
}

/// Where the window is as long as the order's span, it asks for all rows of a unit at once: which need not be known.
std::function<std::optional<WantedRows>(std::uint32_t)> Engine::asked_rows() const {
  if (plan_.boxes || (plan_.slots >= plan_.wanted_slots && !plan_.blocks->is_chosen())) return {};
  return [this](std::uint32_t unit) {
    std::optional<WantedRows> wanted;
    for (const RowRange& rows : window_.asked_rows(unit)) (wanted ? *wanted : wanted.emplace()).add(rows);
    if (wanted) wanted->seal();
    return wanted;
  };
}

std::shared_ptr<Engine> Engine::make(SampleSource source, EnginePlan plan, ThreadStarter starter) {
  // In a forked child the threads, and all that waits for them, are the parent's: leave everything untouched.
  return {new Engine(std::move(source), std::move(plan), std::move(starter)), [](Engine* engine) {
            if (!engine->forked()) engine->let_go();
          }};
}

/// Return true if whole batches can be gathered from there. Boxes go by cells: a claim has those of several batches.
bool Engine::can_gather(const RowStores& rows) const {
  return !plan_.boxes && rows.complete() && rows.random_access();
}

void Engine::provide_memory(EngineMemory memory, std::shared_ptr<DecodedCache> decoded_cache) {
  budget_ = std::move(memory.budget);
  slots_memory_ = std::move(memory.slots);
  index_memory_ = std::move(memory.index);
  reservations_ = std::move(memory.others);
  slots_ = plan_.slots;
  wanted_slots_ = plan_.slots;
  slots_bytes_ = plan_.slots * plan_.slot_bytes;
  cache_bytes_ = plan_.cache_bytes;
  kept_blocks_ = decoded_cache->blocks;
  if (decoded_cache->blocks) {
    schedule_ = std::make_unique<UseSchedule>(plan_.sampler, plan_.share);
    may_keep_all_ = plan_.fits_encoded;
    decoded_cache->blocks->set_growing(plan_.fits_encoded && plan_.slots > plan_.direct_window_slots());
  }
  if (decoded_cache->rows) {
    if (source_.rows()) gather_.emplace((*decoded_cache->rows)[0], *plan_.blocks, source_.rows()->program);
    decoded_cache->set_complete_callback([this] { persist_store(); });
    gather_ready_.store(plan_.gathers || can_gather(*decoded_cache->rows), std::memory_order_release);
    // A whole cache with damaged blocks is not mended.
    const bool fills =
        plan_.tier != CacheTier::kDirectory || plan_.keeping_bytes > 0 || decoded_cache->rows->complete();
    may_keep_all_ = fills && decoded_cache->rows->random_access() &&
                    (plan_.tier != CacheTier::kHostRows || plan_.cache_bytes >= plan_.data_bytes);
  }
  keeps_blocks_ = may_keep_all_.load();
  {
    const std::lock_guard lock(cache_mutex_);
    decoded_cache_ = std::move(decoded_cache);
  }
  for (auto& w : decoders_) {
    if (w->server) w->server->set_decoded_cache(decoded_cache_.get()), w->server->set_reads_ahead(&ahead_);
    if (w->parts) w->parts->set_decoded_cache(decoded_cache_.get()), w->parts->set_reads_ahead(&ahead_);
  }
  preloads_ = plan_.preloads && decoded_cache_->keeps();
  const bool asked = preloads_ || plan_.gathers || plan_.keeps_all_units || plan_.tier == CacheTier::kDirectory ||
                     plan_.tier == CacheTier::kHostRows;
  if (asked) decoded_cache_->policy.keep_everything();
  if (preloads_ || plan_.gathers) ahead_.sweep();
  has_memory_ = true;
}

std::shared_ptr<DecodedCache> Engine::decoded_cache() const {
  const std::lock_guard lock(cache_mutex_);
  return decoded_cache_;
}

Engine::Preload Engine::preload() const {
  const bool has_all = has_all_rows();
  const std::uint64_t all = preloads_ || has_all ? plan_.num_units() : 0;
  if (has_all) return {all, all};
  return {std::min(preloaded_.load(), all), all};
}

bool Engine::lacks_its_stores() const {
  const bool shares = plan_.tier == CacheTier::kDirectory || plan_.tier == CacheTier::kHostRows;
  return shares && has_memory() && !decoded_cache()->last().of_rows;
}

bool Engine::has_all_rows() const {
  const std::shared_ptr<DecodedCache> cache = decoded_cache();
  if (!cache) return false;
  if (cache->rows) return cache->rows->complete();
  return plan_.keeps_all_units && cache->blocks && cache->blocks->num_blocks() >= plan_.kept_units;
}

bool Engine::wants_preload() {
  if (!decoded_cache_->rows && !plan_.keeps_all_units) return false;
  if (!started_) {
    preloads_ = true;
    decoded_cache_->policy.keep_everything();
    ahead_.sweep();
  }
  return preloads_ || has_all_rows();
}

/// A thread of ours has filled the last block of a store. What is on disk is made to last while batches already come
/// from it.
void Engine::persist_store() {
  if (!decoded_cache_->rows->complete()) return;
  ahead_.forget_all();
  gather_ready_.store(can_gather(*decoded_cache_->rows), std::memory_order_release);
  if (stopped_ || persister_.joinable()) return;
  const auto finish = [decoded_cache = decoded_cache_, rows = decoded_cache_->rows] {
    try {
      if (const Status made = rows->finish(); !made.ok())
        decoded_cache->notice(DecodedCache::text_of(made.error(), "The cache is good for this run only."));
    } catch (const std::exception&) {  // no memory: as if the process had ended here, the next run goes on
    }
  };
  auto thread = start_thread_("hr-finish", [finish](const std::stop_token&) { finish(); });
  if (thread.ok())
    persister_ = std::move(*thread);
  else
    finish();
}

Engine::~Engine() = default;  // after let_go()

bool Engine::forked() const {
  return ::getpid() != owner_pid_;
}

Status Engine::check_usable() const {
  if (forked())
    return Error(ErrorCode::kForked, "this loader was made in the parent process, and threads do not survive a fork")
        .with_hint("Make the loader in the child, or start the child with the 'spawn' method.");
  if (stopped_) return Error(ErrorCode::kClosed, "the loader was closed");
  return {};
}

Status Engine::start_epoch(std::uint64_t epoch, std::uint64_t position, const std::function<bool()>& go_on) {
  HEADRACE_TRY(check_usable());
  HEADRACE_TRY(start_threads(go_on));
  if (!first_epoch_) {
    if (preloads_ && decoded_cache_->rows) {
      claims_.add_all(epoch);
      asked_blocks_.ask_all(epoch);
    }
    first_epoch_ = epoch;
  }
  decoded_cache_->settle_charge();
  if (decoded_cache_->rows && can_gather(*decoded_cache_->rows)) gather_ready_.store(true, std::memory_order_release);
  if (plan_.online) plan_.online->end();  // rows that were given for an epoch are for that one only
  const std::uint64_t listed = plan_.listed ? plan_.listed->version() : 0;
  gathered_ahead_bytes_ += needed_bytes_of(claims_.start(epoch, position));
  asked_blocks_.start(epoch);
  if (!window_.start_epoch(epoch, position, plan_.online == nullptr && listed == listed_version_, go_on))
    return Error(ErrorCode::kCancelled, "stopped before the threads had given up what they were at");
  listed_version_ = listed;
  if (plan_.online) plan_.online->begin(epoch, position);
  const std::lock_guard lock(sums_mutex_);
  const bool goes_on = position > 0 && sums_.epoch == epoch && sums_.end_sample == position;
  if (!goes_on) sums_ = {epoch, position, position, {}, false};
  return {};
}

void Engine::feed(std::span<const std::uint64_t> rows) {
  plan_.online->append(rows);
  window_.order_grew();
}

bool Engine::wait(std::chrono::nanoseconds limit) {
  return !check_usable().ok() || window_.wait_head(limit);
}

Result<std::optional<Engine::Delivery>> Engine::next() {
  HEADRACE_TRY(check_usable());
  HEADRACE_ASSIGN(std::optional<RequestWindow::Delivered> d, window_.next());
  if (!d) {
    HEADRACE_TRY(check_epoch());
    return std::optional<Delivery>();
  }
  {
    const std::lock_guard lock(sums_mutex_);
    sums_.end_sample = d->content.step.end;
    // Else it is one that another rank delivers.
    if (d->content.step.real_rows > 0 || plan_.tail == Tail::kPad) sums_.sums += d->sums;
  }
  // Trainers count the batches and never ask for one behind the last.
  if (d->content.step.last) HEADRACE_TRY(check_epoch());
  const bool last = d->content.step.last;
  std::vector<DerivedColumn> derived = derived_columns(plan_, d->content.samples, d->rows, d->content.step, d->epoch);
  return std::optional<Delivery>(
      {memory_->deliver(std::move(d->memory), d->content, d->rows, d->epoch, d->batch, std::move(derived)),
       d->content.step.end, last});
}

/// An epoch has ended. Whole ones of one rank must have been every row once: their sums are known in closed form.
Status Engine::check_epoch() {
  const std::lock_guard lock(sums_mutex_);
  const bool whole = sums_.first_sample == 0 && plan_.share.world_size == 1 && plan_.tail == Tail::kPartial &&
                     plan_.sampler->traits().permutation && !plan_.draws_samples();
  if (!whole || sums_.complete) return {};
  if (!every_row_) every_row_ = sums_of(*plan_.blocks);
  if (sums_.sums != *every_row_)
    return Error(ErrorCode::kInternal,
                 fmt::format("epoch {} did not deliver every row once: a fault of headrace or of this machine's memory",
                             sums_.epoch));
  sums_.complete = true;
  return {};
}

EpochSums Engine::sums() const {
  const std::lock_guard lock(sums_mutex_);
  return sums_;
}

void Engine::carry(const Engine& before) {
  window_.carry_claims(before.window_);
  const EpochSums sums = before.sums();
  const std::lock_guard lock(sums_mutex_);
  sums_ = sums;
}

Engine::PeakMemory Engine::peak_memory() const {
  PeakMemory peak{0, 0, resident_bytes_ + side_chunks_.peak_bytes()};
  for (const auto& w : decoders_) {
    peak.scratch_bytes += w->counters.peak_scratch_bytes();
    peak.read_buffer_bytes += w->counters.peak_read_buffer_bytes();
  }
  return peak;
}

Engine::Decodes Engine::decodes() const {
  Decodes sum;
  sum.needed_bytes = asked_blocks_.ahead_bytes() + gathered_ahead_bytes_;
  for (const auto& w : decoders_) {
    sum.decoded_bytes += w->counters.decoded_bytes();
    sum.needed_bytes += w->counters.needed_bytes();
    sum.slow_pieces += w->counters.slow_pieces();
  }
  return sum;
}

}  // namespace headrace
