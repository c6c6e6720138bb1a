#include "assembly/window/request_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <numeric>

#include "base/clock.h"
#include "base/thrown.h"

namespace headrace {
namespace {
constexpr std::uint64_t kOfferShare = 8;   // of the window, that stays empty before a sleeping thread is woken
constexpr double kLongest = 8;             // times the mean, that one counts for
constexpr double kNewest = 1.0 / 16;       // weight of the latest of a running mean
constexpr std::uint64_t kAheadShare = 16;  // of the window, that an order without locality may be ahead of need
constexpr std::uint64_t kDrawnShare = 4;   // and a map that draws samples, of which no request is known to be the last
constexpr std::uint64_t kLeastAhead = 2;   // batches, of such a map
}  // namespace

/// How many slots ahead of the oldest batch a unit may be decoded that is not complete; nullopt: none is, for the order
/// or the map tells when it is.
std::optional<std::uint64_t> RequestWindow::ahead_slots(const StepPlan& steps, const Options& options) {
  const std::uint64_t slots = std::max<std::uint64_t>(options.max_slots, 1);
  if (options.map && options.map->draws_samples()) {
    // Where shuffle blocks tell what they ask for, units are waited for in a window that holds whole shuffle blocks; a
    // shorter one would keep threads idle.
    const bool waits = options.map->block_units() == SampleMap::BlockUnits::kByEpoch && slots >= options.span_slots;
    return waits ? kLeastAhead : std::max(slots / kDrawnShare, kLeastAhead);
  }
  // Where the window holds all of an epoch, units are complete before they are needed.
  if (!steps.sampler().traits().local)
    return slots >= options.span_slots ? std::nullopt : std::optional(slots / kAheadShare);
  return std::nullopt;
}

RequestWindow::RequestWindow(std::shared_ptr<const StepPlan> steps, std::shared_ptr<const BlockTable> blocks,
                             Options options, SlotAllocator& allocator)
    : steps_(std::move(steps)),
      blocks_(std::move(blocks)),
      options_(std::move(options)),
      blocks_known_(options_.map ? options_.map->block_units() : SampleMap::BlockUnits::kUnknown),
      ahead_slots_(ahead_slots(*steps_, options_)),
      keeps_samples_(options_.keep_samples || options_.map || options_.finishing.tasks(1) > 0),
      item_bits_(options_.map ? 0 : RequestList::item_bits(blocks_->max_stored_block_rows())),
      allocator_(allocator) {
  ring_.resize(std::max<std::uint64_t>(options_.max_slots, 1));
  for (auto& s : ring_) s = std::make_unique<WindowSlot>();
  finishing_.reserve(ring_.size());
  for (auto& index : state_of_unit_) index.resize(options_.map ? options_.map->num_units() : blocks_->num_blocks());
  for (Claimed& claimed : claimed_) claimed.units.resize(state_of_unit_[0].size());
  if (options_.row_weight == 0 || options_.map) return;
  for (std::uint64_t b = 0; b < blocks_->num_blocks(); ++b) first_rows_.push_back(blocks_->stored_rows(b).first);
}

/// A single pause says nothing of the pace.
void RequestWindow::Pace::add(double& mean, double latest) {
  mean += mean == 0 ? latest : kNewest * (std::min(latest, kLongest * mean) - mean);
}

// ------------------------------------------------------------------------------------------------------ decode threads

bool RequestWindow::valid(const Need& need) const {
  return states_[need.state].version == need.version && !states_[need.state].requests.empty();
}

bool RequestWindow::pick(Claim& out) {
  if (dropping_ || fatal_) return false;
  // The oldest batch comes first, whatever it waits for; then what is nearly there.
  if (!finishing_.empty() && finishing_.front() == head_ && pick_finishing(out)) return true;
  while (!needed_.empty() && !valid(needed_.top())) needed_.pop();
  // While a batch is being planned its rows may still belong to a block of the oldest batch: wait for it.
  if (!needed_.empty() && needed_.top().first_need == head_ && !planning_) return take(needed_.top().state, out), true;
  if (pick_finishing(out)) return true;
  while (!complete_.empty() && !(valid(complete_.top()) && is_ripe(complete_.top().state))) complete_.pop();
  if (!complete_.empty()) return take(complete_.top().state, out), true;
  // Without locality a unit waits for the oldest batch to need it; some slots ahead of that keep the threads busy
  // while the consumer works, and cost a decode in so many. A block that is kept costs none.
  if (!planning_ && !needed_.empty() &&
      ((options_.blocks_are_kept && options_.blocks_are_kept->load(std::memory_order_relaxed)) ||
       (ahead_slots_ && needed_.top().first_need <= head_ + *ahead_slots_)))
    return take(needed_.top().state, out), true;
  return false;
}

/// A finishing task of the oldest batch that has one to claim. The task of the batch as a whole waits for those of its
/// samples.
bool RequestWindow::pick_finishing(Claim& out) {
  for (auto at = finishing_.begin(); at != finishing_.end(); ++at) {
    WindowSlot& s = slot(*at);
    if (s.finish_next == options_.finishing.sample_tasks(s.rows) && s.finish_left > 1) continue;
    out.kind = Claim::Kind::kFinish;
    out.unit = s.finish_next++;
    out.epoch = s.epoch;
    out.first = out.last = false;
    out.requests.clear();
    out.runs.assign(1, {&s, 0, 0});
    ++active_claims_;
    if (s.finish_next == options_.finishing.tasks(s.rows)) finishing_.erase(at);
    return true;
  }
  return false;
}

/// There is nothing to decode, and what is ready lasts while a thread is away for as long as a unit takes.
bool RequestWindow::pick_spare(Claim& out) {
  if (!options_.has_spare_work || !options_.has_spare_work->load(std::memory_order_relaxed)) return false;
  if (dropping_ || fatal_ || !is_ahead()) return false;
  out.kind = Claim::Kind::kSpare;
  out.epoch = head_run_.epoch;
  out.first = out.last = false;
  out.requests.clear();
  out.runs.clear();
  ++active_claims_;
  return true;
}

/// Nothing of the slot is missing. With the lock.
void RequestWindow::slot_filled(WindowSlot& s) {
  const std::uint32_t tasks = s.error ? 0 : options_.finishing.tasks(s.rows);
  s.finish_entered = true;
  if (tasks == 0) return;
  s.finish_left = tasks;
  finishing_.insert(std::upper_bound(finishing_.begin(), finishing_.end(), s.sequence), s.sequence);
  if (idle_threads_ > 0) work_.notify_one();
}

void RequestWindow::take(std::uint32_t state, Claim& out) {
  UnitState& b = states_[state];
  out.requests.resize(b.requests.size());  // before anything changes: there may be no memory for it
  out.kind = Claim::Kind::kUnit;
  out.unit = b.unit;
  out.epoch = b.epoch;
  Claimed& claimed = claimed_[b.epoch & 1];
  out.first = b.claims++ == 0 && !(claimed.again && claimed.units[b.unit]);
  claimed.units[b.unit] = true;
  out.last = b.complete;
  out.starting = head_ == 0;
  out.ahead = options_.tells_ahead && is_ahead();
  out.started_ns = options_.tells_ahead ? now_ns() : 0;
  out.filed.clear();
  out.runs.clear();
  out.filed.swap(b.requests);
  out.runs.swap(b.runs);
  for (std::size_t i = 1; i < out.runs.size(); ++i) out.runs[i - 1].end = out.runs[i].begin;
  out.runs.back().end = out.filed.size();
  ++b.version;
  ++active_claims_;
  if (!b.complete) return;
  // An order may go through its blocks more than once (a part of a mixture): then the next pass may have begun.
  const std::uint64_t ahead = b.closed || b.expected == 0 ? 0 : b.asked % b.expected;
  if (ahead == 0) return free_state(state);
  b.asked = ahead;
  b.claims = 0;
  b.complete = false;
}

/// Let the epoch end here: there was no memory for what its batches need, and some of it may be half done. With or
/// without the lock, which the caller then holds.
void RequestWindow::end_without_memory(Lock& lock) {
  if (!lock.owns_lock()) lock.lock();
  if (!fatal_) fatal_ = out_of_memory();
  ready_.notify_one();
}

/// \return False if there is nothing to claim now.
bool RequestWindow::try_claim(Lock& lock, Claim& out) {
  while (!planning_ && may_enter()) {
    if (enter_next(lock, out)) return true;
    if (stopped_) return false;
  }
  if (pick(out)) {
    if (idle_threads_ > 0 && (!needed_.empty() || !complete_.empty() || !finishing_.empty())) work_.notify_one();
    return true;
  }
  return pick_spare(out);
}

bool RequestWindow::claim(Claim& out) noexcept {
  Lock lock(mutex_);
  out.waited_ns = 0;
  while (!stopped_) {
    try {
      if (try_claim(lock, out)) {
        lock.unlock();
        if (out.kind == Claim::Kind::kUnit) out.filed.write(out.requests, item_bits_);
        return true;
      }
      if (stopped_) break;
    } catch (const std::exception&) {
      end_without_memory(lock);
    }
    const std::uint64_t start = now_ns();
    ++idle_threads_;
    work_.wait(lock);
    --idle_threads_;
    out.waited_ns += now_ns() - start;
  }
  return false;
}

namespace {

/// Return the sample of item `i` of a whole batch: a part where there is a map, else the sample itself.
std::uint32_t sample_of(const SlotRun& run, std::uint32_t i) {
  const std::vector<std::uint32_t>& ends = run.slot->content.part_ends;
  if (ends.empty()) return i;
  return static_cast<std::uint32_t>(std::ranges::upper_bound(ends, i) - ends.begin());
}

}  // namespace

/// Leave the first failure of each slot there. \param failures  May overlap: the first that holds a row counts.
void RequestWindow::note_failures(const Claim& claim, std::span<const RowFailure> failures) {
  std::vector<std::uint32_t> by_row(failures.size());
  std::iota(by_row.begin(), by_row.end(), 0);
  std::stable_sort(by_row.begin(), by_row.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return failures[a].rows.first < failures[b].rows.first; });
  // Rows of failures before each one reach so far: a search backwards ends there.
  std::vector<std::uint64_t> reach;
  for (const std::uint32_t f : by_row)
    reach.push_back(std::max(reach.empty() ? 0 : reach.back(), failures[f].rows.end()));
  const auto failure_of = [&](std::uint64_t row, const WindowSlot* slot) -> const RowFailure* {
    auto at = std::upper_bound(by_row.begin(), by_row.end(), row,
                               [&](std::uint64_t r, std::uint32_t f) { return r < failures[f].rows.first; });
    const RowFailure* found = nullptr;
    while (at != by_row.begin() && reach[static_cast<std::size_t>(at - by_row.begin()) - 1] > row) {
      --at;
      const RowFailure& failure = failures[*at];
      if (failure.slot && failure.slot != slot) continue;
      if (row < failure.rows.end() && (!found || &failure < found)) found = &failure;
    }
    return found;
  };
  for (const SlotRun& run : claim.runs)
    for (std::uint32_t i = run.begin; i < run.end; ++i) {
      const Request request = claim.kind == Claim::Kind::kBatch ? Request{i, sample_of(run, i)} : claim.requests[i];
      if (run.slot->error && run.slot->error_position <= request.position) continue;
      const RowFailure* const failure = failure_of(request.item, run.slot);
      if (!failure) continue;
      run.slot->error = failure->error;
      run.slot->error_position = request.position;
    }
}

void RequestWindow::complete(Claim& claim, std::span<const RowFailure> failures,
                             std::span<const RowDigest> digests) noexcept {
  if (!failures.empty() || !digests.empty()) {
    const Lock lock(mutex_);
    for (std::size_t i = 0; i < digests.size(); ++i) claim.runs[i].slot->digest += digests[i];
    if (!failures.empty() && claim.kind == Claim::Kind::kFinish)
      note_finishing_failure(*claim.runs[0].slot, failures[0]);
    else if (!failures.empty())
      try {
        note_failures(claim, failures);
      } catch (const std::exception&) {  // no memory to tell the rows that failed from those that did not
        for (const SlotRun& run : claim.runs)
          if (!run.slot->error) run.slot->error = failures[0].error;
      }
  }
  const bool finishes = options_.finishing.tasks(1) > 0;
  WindowSlot* filled = nullptr;  // of the slots that this claim filled, one that is to be finished
  if (claim.kind != Claim::Kind::kFinish)
    for (const SlotRun& run : claim.runs) {
      const std::uint32_t count = run.end - run.begin;
      if (run.slot->missing.fetch_sub(count, std::memory_order_acq_rel) != count || !finishes) continue;
      if (filled) {
        const Lock lock(mutex_);
        slot_filled(*run.slot);
      } else {
        filled = run.slot;
      }
    }
  const Lock lock(mutex_);
  if (options_.tells_ahead && claim.kind == Claim::Kind::kUnit) {
    pace_.add(pace_.unit_ns, static_cast<double>(now_ns() - claim.started_ns));
    pace_.add(pace_.requests_of_run,
              static_cast<double>(claim.requests.size()) / static_cast<double>(claim.runs.size()));
  }
  if (filled) slot_filled(*filled);
  if (claim.kind == Claim::Kind::kFinish) finished_task(*claim.runs[0].slot);
  --active_claims_;
  if (consumer_waits_ && head_ready()) ready_.notify_one();
  drop_if_quiet();
}

/// A task of the slot is done. Where a sample failed the others are finished all the same, so that the error is the
/// first one's for any number of threads; the batch as a whole is not.
void RequestWindow::finished_task(WindowSlot& s) {
  const bool batch_is_left = --s.finish_left == 1 && options_.finishing.batch;
  if (batch_is_left && s.error) {
    s.finish_left = 0;
    std::erase(finishing_, s.sequence);
  } else if (batch_is_left && idle_threads_ > 0) {
    work_.notify_one();
  }
}

void RequestWindow::note_finishing_failure(WindowSlot& s, const RowFailure& failure) {
  const auto position = static_cast<std::uint32_t>(failure.rows.first);
  if (s.error && s.error_position <= position) return;
  s.error = failure.error;
  s.error_position = position;
}

// ------------------------------------------------------------------------------------------------------- the consumer

bool RequestWindow::is_ready(std::uint64_t sequence) const {
  if (dropping_ && sequence >= kept_end_) return false;  // a claim that was given up counts as served
  if (sequence >= end_ || slot(sequence).missing.load(std::memory_order_acquire) != 0) return false;
  if (options_.finishing.tasks(1) == 0) return true;
  // `missing` falls before the lock is taken to say what is left to finish: the claim that filled the slot is still
  // active then, and completes.
  const WindowSlot& s = slot(sequence);
  return s.finish_entered && s.finish_left == 0;
}

/// True if batches that are ready keep the consumer busy for longer than the next one will take, and one more unit.
bool RequestWindow::is_ahead() const {
  if (consumer_waits_) return false;
  std::uint64_t gap = head_;
  while (is_ready(gap)) ++gap;
  const double threads = active_claims_ + idle_threads_ + 1;
  const double missing = gap == end_ ? 0 : slot(gap).missing.load(std::memory_order_relaxed);
  const double units = missing / std::max(pace_.requests_of_run, 1.0);
  return static_cast<double>(gap - head_) * pace_.consumer_ns > (units / threads + 2) * pace_.unit_ns;
}

/// Wait for claims to be given up, one of which may be stuck in a read. \return False where go_on() said no.
bool RequestWindow::wait_quiet(Lock& lock, const std::function<bool()>& go_on, const std::function<bool()>& is_quiet) {
  constexpr std::chrono::milliseconds kTick{50};
  while (!quiet_.wait_for(lock, kTick, is_quiet)) {
    if (!go_on) continue;
    const struct Unlocked {
      Lock& lock;
      ~Unlocked() { lock.lock(); }
    } unlocked{lock};
    lock.unlock();
    if (!go_on()) return false;
  }
  return true;
}

bool RequestWindow::start_epoch(std::uint64_t epoch, std::uint64_t position, bool keep,
                                const std::function<bool()>& go_on) {
  Lock lock(mutex_);
  if (!wait_quiet(lock, go_on, [&] { return !dropping_; })) return false;
  const bool begins_there =
      keep && started_ && !fatal_ && head_run_.epoch == epoch && head_run_.position == position && head_run_.step == 0;
  if (!begins_there) {
    if (started_) {
      restarting_ = true;
      begin_drop(head_);
      {
        const struct Restarting {  // at its end slots are dropped, if that can be; else by the last claim
          RequestWindow& window;
          ~Restarting() {
            window.restarting_ = false;
            window.drop_if_quiet();
          }
        } restarting{*this};
        if (!wait_quiet(lock, go_on, [&] { return active_claims_ == 0 && !planning_; })) return false;
      }
      for (const std::uint64_t parity : {0, 1}) claimed_[parity].forget();
      fatal_.reset();
    }
    head_run_ = run_of(epoch, position);
    if (head_run_.steps == 0 && position > 0) head_run_ = run_of(epoch + 1, 0);  // nothing is left of this one
    enter_run_ = head_run_;
    enter_position_ = enter_run_.position;
  }
  started_ = true;
  consumer_epoch_ = epoch;
  delivered_ns_ = 0;  // what was done between epochs is not the pace of batches
  work_.notify_all();
  return true;
}

bool RequestWindow::wait_head(std::chrono::nanoseconds limit) {
  Lock lock(mutex_);
  return wait_head(lock, limit);
}

bool RequestWindow::wait_head(Lock& lock, std::chrono::nanoseconds limit) {
  const auto settled = [&] {
    return stopped_ || fatal_ || head_run_.ended() || head_run_.epoch != consumer_epoch_ || head_ready();
  };
  if (settled()) return true;
  consumer_waits_ = true;
  if (idle_threads_ > 0) work_.notify_one();  // whatever room there is: see offer_room()
  const auto until = std::chrono::steady_clock::now() + limit;
  while (!settled()) {
    if (may_plan_ahead())
      plan_ahead(lock);
    else if (ready_.wait_until(lock, until) == std::cv_status::timeout)
      break;
  }
  consumer_waits_ = false;
  return settled();
}

Result<std::optional<RequestWindow::Delivered>> RequestWindow::next() {
  if (delivered_ns_ != 0) {
    const Lock lock(mutex_);
    pace_.add(pace_.consumer_ns, static_cast<double>(now_ns() - delivered_ns_));
  }
  Lock lock(mutex_);
  while (!wait_head(lock, std::chrono::hours(1))) {
  }
  if (stopped_) return Error(ErrorCode::kClosed, "the loader was closed");
  if (fatal_) return *fatal_;
  if (head_run_.ended() || head_run_.epoch != consumer_epoch_) return std::optional<Delivered>();
  WindowSlot& s = slot(head_);
  if (s.error) {
    fatal_ = *s.error;  // the epoch ends here; start_epoch() begins afresh
    return *s.error;
  }
  if (options_.row_weight != 0 && s.digest.placed != s.content.expected) {
    fatal_ =
        Error(ErrorCode::kInternal,
              fmt::format("batch {} of epoch {} does not hold the rows that the plan says: a fault of headrace or of "
                          "this machine's memory",
                          s.batch, s.epoch));
    return *fatal_;
  }
  Delivered out{s.epoch, s.batch, s.rows, std::move(s.memory), {}, options_.map ? s.content.sums : s.digest.sums};
  if (options_.keep_samples || options_.map)
    std::swap(out.content, s.content);
  else
    out.content.step = s.content.step;
  if (longest() < ring_.size()) s.content = {};  // each place of the ring is used, however few at a time
  ++head_;
  if (options_.listener) options_.listener->delivered(head_);
  if (++head_run_.step == head_run_.steps) head_run_ = run_of(head_run_.epoch + 1, 0);
  offer_room();
  if (options_.tells_ahead) delivered_ns_ = now_ns();
  return std::optional<Delivered>(std::move(out));
}

void RequestWindow::stop() {
  const Lock lock(mutex_);
  stopped_ = true;
  cancelled_.store(true, std::memory_order_relaxed);
  work_.notify_all();
  ready_.notify_all();
}

void RequestWindow::drop_slots() {
  // One by one: an engine ends here also where no memory is left for a list of them.
  for (auto& s : ring_) {
    std::unique_ptr<SlotMemory> dropped;  // freed without the lock
    const Lock lock(mutex_);
    dropped = std::move(s->memory);
  }
}

void RequestWindow::limit_slots(std::uint64_t slots) {
  most_slots_.store(std::max<std::uint64_t>(slots, 1), std::memory_order_relaxed);
}

void RequestWindow::order_grew() {
  const Lock lock(mutex_);
  if (idle_threads_ > 0) work_.notify_one();
}

void RequestWindow::memory_released() {
  const Lock lock(mutex_);
  ++releases_;
  if (!short_of_memory_.load(std::memory_order_relaxed)) return;
  if (!has_planned_) return offer_room();
  short_of_memory_.store(false, std::memory_order_relaxed);  // what came back may be as much as the next batch needs
  if (idle_threads_ > 0) work_.notify_one();
}

/// The window may grow by a slot. Waking a thread costs the consumer's thread up to 40 us where processors sleep, so
/// that is done for several slots at once; a consumer that has to wait wakes one in any case.
void RequestWindow::offer_room() {
  if (idle_threads_ == 0 || ++offers_ <= longest() / kOfferShare) return;
  offers_ = 0;
  short_of_memory_.store(false, std::memory_order_relaxed);
  work_.notify_one();
}

}  // namespace headrace
