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

constexpr std::chrono::milliseconds kTick{50};  // between two questions whether to go on

std::atomic<std::uint32_t>& all_threads() {
  static std::atomic<std::uint32_t> threads{0};
  return threads;
}

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

/// Return true if the window asks for all rows of a unit at once, as a rule, so that all of it may be read.
bool asks_for_whole_units(const EnginePlan& plan) {
  return plan.slots >= plan.wanted_slots && !plan.blocks->is_chosen();
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
      ahead_(
          UnitLocator(source_, plan_.layout, plan_.blocks, asks_for_whole_units(plan_)),
          {.threads = plan_.threads,
           .reads_in_flight = plan_.reads_in_flight,
           .held_bytes = plan_.held_ahead_bytes,
           .cached_bytes = most_cached_bytes()},
          [this](std::uint32_t unit) { return decoded_cache_->has(unit); }, start_thread_),
      window_(plan_.steps, plan_.blocks,
              window_options(source_, plan_, {gather_ready_, keeps_blocks_, uncached_.any()}, ahead_), *memory_),
      side_chunks_(plan_.side_chunks_bytes) {
  memory_->set_release_callback([this] { window_.memory_released(); });
  for (std::uint32_t t = 0; t < plan_.threads; ++t)
    decoders_.push_back(
        std::make_unique<DecodeThread>(board_.add_thread(), source_, plan_.layout, resident_, side_chunks_));
}

std::shared_ptr<Engine> Engine::make(SampleSource source, EnginePlan plan, ThreadStarter starter) {
  // In a forked child the threads, and all that waits for them, are the parent's: leave everything untouched.
  return {new Engine(std::move(source), std::move(plan), std::move(starter)), [](Engine* engine) {
            if (!engine->forked()) delete engine;
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

Engine::~Engine() {
  stop();
}

std::uint32_t Engine::threads_of_process() {
  return all_threads();
}

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
  window_.start_epoch(epoch, position, plan_.online == nullptr && listed == listed_version_);
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

Status Engine::start_threads(const std::function<bool()>& go_on) {
  HEADRACE_TRY(check_usable());
  if (started_) return {};
  const struct DropUnlessStarted {
    Engine& engine;
    ~DropUnlessStarted() {
      if (!engine.started_) engine.resident_.clear();
    }
  } drop_unless_started{*this};
  threads_.reserve(decoders_.size());  // what is thrown after the first has started would leave it alone
  for (auto& w : decoders_) HEADRACE_TRY(w->prepare());
  HEADRACE_TRY(load_resident_arrays(go_on));
  std::optional<Error> refused;
  while (!refused && threads_.size() < decoders_.size()) {
    const std::size_t t = threads_.size();
    try {
      auto thread =
          start_thread_(fmt::format("hr-decode-{}", t), [this, t](const std::stop_token&) { work(*decoders_[t]); });
      if (thread.ok())
        threads_.push_back(std::move(*thread));
      else
        refused = thread.error();
    } catch (const std::exception& e) {
      refused = error_of(e);
    }
  }
  for (std::size_t t = threads_.size(); t < decoders_.size(); ++t) decoders_[t]->release();
  if (threads_.empty()) return std::move(refused->with_stage("start"));
  num_threads_ = static_cast<std::uint32_t>(threads_.size());
  all_threads() += num_threads_;
  started_ = true;
  if (refused)
    decoded_cache_->notice(
        fmt::format("Only {} of {} decode threads were started: {}. Loading goes on with those, slower. {}",
                    threads_.size(), decoders_.size(), refused->message(), refused->hint()));
  return {};
}

/// Side arrays that are kept decoded. A part that fails is remembered: the error belongs to the batch that needs it.
Status Engine::load_resident_arrays(const std::function<bool()>& go_on) {
  if (!source_.rows()) return {};
  const Source& source = *source_.rows();
  HEADRACE_TRY(resident_.allocate(source, plan_.layout));
  resident_bytes_ = resident_.charged_bytes();
  std::vector<ResidentArrays::ArrayPart> parts;
  for (std::uint32_t f = 0; f < source.files.size(); ++f)
    for (std::uint32_t a = 0; a < source.num_arrays(); ++a)
      for (const ResidentArrays::ArrayPart& part : ResidentArrays::parts_of(source, plan_.layout, f, a))
        parts.push_back(part);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> given_up{false}, no_memory{false};
  bool cancelled = false;
  const auto load_one = [&](DecodeThread& decoder, const ResidentArrays::ArrayPart& part,
                            const std::function<bool()>& asked) noexcept {
    try {
      try {
        decoder.server->load(part, resident_, asked);
      } catch (const std::exception& e) {
        resident_.fail(part, part.rows, error_of(e));
      }
    } catch (...) {  // not even the error could be kept
      no_memory = given_up = true;
    }
  };
  const auto run = [&](DecodeThread& decoder, const std::function<bool()>& asked) {
    for (std::size_t i; !given_up && (i = next.fetch_add(1)) < parts.size();) load_one(decoder, parts[i], asked);
  };
  {
    std::vector<std::jthread> helpers;
    helpers.reserve(decoders_.size());
    const struct GiveUp {  // where something is thrown here: the helpers need not go on
      std::atomic<bool>& flag;
      ~GiveUp() { flag = true; }
    } guard{given_up};
    for (std::size_t t = 1; t < std::min(decoders_.size(), parts.size()); ++t) {
      auto helper = start_thread_(fmt::format("hr-load-{}", t),
                                  [&, t](const std::stop_token&) { run(*decoders_[t], [&] { return !given_up; }); });
      if (!helper.ok()) break;  // fewer will do
      helpers.push_back(std::move(*helper));
    }
    auto asked = std::chrono::steady_clock::now();
    std::exception_ptr thrown;  // by go_on(): it may not pass through what is noexcept
    run(*decoders_[0], [&] {
      const auto now = std::chrono::steady_clock::now();
      if (given_up || !go_on || now - asked < kTick) return !given_up;
      asked = now;
      try {
        cancelled = !go_on();
      } catch (...) {
        thrown = std::current_exception();
      }
      if (cancelled || thrown) given_up = true;
      return !given_up;
    });
    if (thrown) std::rethrow_exception(thrown);
    for (std::jthread& helper : helpers) helper.join();
  }
  if (cancelled) return Error(ErrorCode::kCancelled, "stopped before all side fields were read");
  if (no_memory) return out_of_memory();
  resident_.seal();
  return {};
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

void Engine::stop() {
  if (stopped_.exchange(true) || forked()) return;
  memory_->set_release_callback({});
  window_.stop();
  ahead_.stop();
  for (std::jthread& t : threads_) t.join();
  all_threads() -= static_cast<std::uint32_t>(threads_.size());
  threads_.clear();
  if (decoded_cache_) decoded_cache_->set_complete_callback({});
  if (persister_.joinable()) persister_.join();
  window_.drop_slots();
  memory_->close();
  for (auto& w : decoders_) w->release();
  side_chunks_.clear();
  resident_.clear();
  {
    const std::lock_guard lock(room_mutex_);  // a consumer may be taking memory back
    slots_memory_.release();
    index_memory_.release();
    reservations_.clear();
  }
  const std::lock_guard lock(cache_mutex_);
  gather_.reset();
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
