#include "assembly/request_window.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"

namespace headrace {
namespace {
constexpr std::uint64_t kOfferShare = 8;   // of the window, that stays empty before a sleeping thread is woken
constexpr std::uint64_t kAheadShare = 16;  // of the window, that an order without locality may be ahead of need
}  // namespace

RequestWindow::RequestWindow(std::shared_ptr<const StepPlan> steps, std::shared_ptr<const BlockTable> blocks,
                             Options options, SlotAllocator& allocator)
    : steps_(std::move(steps)), blocks_(std::move(blocks)), options_(std::move(options)), allocator_(allocator) {
  ring_.resize(std::max<std::uint64_t>(options_.max_slots, 1));
  for (auto& s : ring_) s = std::make_unique<WindowSlot>();
  for (auto& index : state_of_block_) index.resize(blocks_->num_blocks());
}

// ------------------------------------------------------------------------------------------------ entering the window

RequestWindow::Run RequestWindow::run_of(std::uint64_t epoch, std::uint64_t position) const {
  return {epoch, position, steps_->steps_after(epoch, position), 0};
}

bool RequestWindow::may_enter() {
  if (!started_ || dropping_ || fatal_ || enter_run_.ended() || end_ - head_ >= ring_.size()) return false;
  if (whole_batches_ && end_ - head_ >= options_.few_slots) return false;
  if (enter_run_.epoch > head_run_.epoch + 1) return false;  // two epochs at most: states are kept by parity
  if (!steps_->is_settled(enter_run_.epoch, enter_position_)) return false;
  const bool room = allocator_.room(consumer_waits_ && end_ == head_);
  short_of_memory_.store(!room, std::memory_order_relaxed);
  return room;
}

/// Plan one batch. The cursor and the memory are worked on without the lock: `planning_` makes this thread their owner.
/// \return True if the batch is the claim `out`.
bool RequestWindow::enter_next(Lock& lock, Claim& out) {
  planning_ = true;
  const Run run = enter_run_;
  if (!cursor_) whole_batches_ = false;
  if (!whole_batches_ && options_.rows_at_hand && options_.rows_at_hand->load(std::memory_order_acquire)) {
    whole_batches_ = true;
    finish_entering(run.epoch);  // what has been filed by blocks is all there will be
  }
  const bool whole = whole_batches_;
  const std::uint64_t sequence = end_;
  lock.unlock();
  const std::uint64_t start = now_ns();
  if (!cursor_) cursor_ = steps_->cursor(run.epoch, run.position);
  samples_.clear();
  passed_.clear();
  bool counted = true;
  const Step step = cursor_->next(samples_, passed_, counted);
  if (blocks_->is_chosen())
    for (SampleRef& s : samples_) s.row = blocks_->stored_row(s.block, s.row);
  Result<std::unique_ptr<SlotMemory>> memory = allocator_.acquire();
  bool taken = false;
  lock.lock();
  if (memory.ok()) {
    WindowSlot& s = slot(sequence);
    s.epoch = run.epoch;
    s.batch = step.index;
    s.step = step;
    s.rows = static_cast<std::uint32_t>(samples_.size());
    s.missing.store(s.rows, std::memory_order_relaxed);
    s.memory = std::move(*memory);
    s.error.reset();
    s.digest = {};
    s.expected = 0;
    if (options_.keep_samples) s.samples = samples_;
    if (!whole) {
      insert(s, sequence, counted);
    } else if (s.rows > 0) {
      out.block = 0;
      out.epoch = run.epoch;
      out.first = out.last = false;
      out.whole_batch = taken = true;
      out.requests.clear();
      out.runs.assign(1, {&s, 0, s.rows});
      out.samples.swap(samples_);
      ++active_claims_;
    }
    ++end_;
    enter_position_ = step.end;
    if (consumer_waits_ && head_ready()) ready_.notify_one();  // a share of no rows is ready at once
    if (++enter_run_.step == enter_run_.steps) {
      finish_entering(run.epoch);
      enter_run_ = run_of(run.epoch + 1, 0);
      enter_position_ = 0;
      cursor_.reset();
    }
  } else {
    fatal_ = memory.error();
    ready_.notify_one();
  }
  planning_ = false;
  slots_planned_.fetch_add(1, std::memory_order_relaxed);
  plan_ns_.fetch_add(now_ns() - start, std::memory_order_relaxed);
  if (dropping_) quiet_.notify_all();
  if (idle_threads_ > 0) work_.notify_one();
  return taken;
}

/// File the samples under their blocks. \param counted  Do BlockState::asked and expected know of them?
void RequestWindow::insert(WindowSlot& s, std::uint64_t sequence, bool counted) {
  const auto& index = state_of_block_[s.epoch & 1];
  const auto open_state = [&](std::uint32_t block) -> BlockState& {
    return index[block] ? states_[index[block] - 1] : state_of(block, s.epoch, sequence);
  };
  for (const SampleRef sample : passed_) {
    BlockState& b = open_state(sample.block);
    count(b, index[sample.block] - 1);
  }
  std::uint64_t expected = 0;
  for (std::uint32_t position = 0; position < samples_.size(); ++position) {
    const SampleRef sample = samples_[position];
    BlockState& b = open_state(sample.block);
    const std::uint32_t state = index[sample.block] - 1;
    if (b.requests.empty()) {
      b.first_need = sequence;
      needed_.push({sequence, state, b.version});
    }
    if (b.runs.empty() || b.runs.back().slot != &s)
      b.runs.push_back({&s, static_cast<std::uint32_t>(b.requests.size()), 0});
    b.requests.push_back({sample.row, position});
    b.runs.back().end = static_cast<std::uint32_t>(b.requests.size());
    if (!options_.file_weights.empty())
      expected += place_hash(b.file, b.first_row + sample.row, s.step.first_position + position) *
                  options_.file_weights[b.file];
    if (counted) count(b, state);
  }
  s.expected = expected;
}

/// One more of the block's samples was given, here or elsewhere.
void RequestWindow::count(BlockState& b, std::uint32_t state) {
  if (++b.asked != b.expected || b.complete) return;
  if (b.requests.empty())
    free_state(state);
  else
    mark_complete(state);
}

void RequestWindow::free_state(std::uint32_t state) {
  state_of_block_[states_[state].epoch & 1][states_[state].block] = 0;
  free_states_.push_back(state);
}

RequestWindow::BlockState& RequestWindow::state_of(std::uint32_t block, std::uint64_t epoch, std::uint64_t sequence) {
  if (free_states_.empty()) {
    free_states_.push_back(static_cast<std::uint32_t>(states_.size()));
    states_.emplace_back();
  }
  const std::uint32_t i = free_states_.back();
  free_states_.pop_back();
  state_of_block_[epoch & 1][block] = i + 1;
  BlockState& b = states_[i];
  b.block = block;
  b.epoch = epoch;
  b.asked = 0;
  b.claims = 0;
  b.complete = b.closed = false;
  b.first_need = sequence;
  b.expected = cursor_->rows_of(block);
  const BlockTable::Place place = blocks_->place(block);
  b.file = place.file;
  b.first_row = place.rows.first;
  return b;
}

void RequestWindow::mark_complete(std::uint32_t state) {
  BlockState& b = states_[state];
  b.complete = true;
  complete_.push({b.first_need, state, b.version});
}

/// The epoch's last batch has entered: no block of it can get further requests.
void RequestWindow::finish_entering(std::uint64_t epoch) {
  auto& index = state_of_block_[epoch & 1];
  for (std::uint32_t i = 0; i < states_.size(); ++i) {
    BlockState& b = states_[i];
    if (b.epoch != epoch || index[b.block] != i + 1) continue;
    b.closed = true;
    if (b.requests.empty())
      free_state(i);
    else if (!b.complete)
      mark_complete(i);
  }
}

// ------------------------------------------------------------------------------------------------------ decode threads

bool RequestWindow::valid(const Need& need) const {
  return states_[need.state].version == need.version && !states_[need.state].requests.empty();
}

bool RequestWindow::pick(Claim& out) {
  if (dropping_ || fatal_) return false;
  while (!needed_.empty() && !valid(needed_.top())) needed_.pop();
  // While a batch is being planned its rows may still belong to a block of the oldest batch: wait for it.
  if (!needed_.empty() && needed_.top().first_need == head_ && !planning_) return take(needed_.top().state, out), true;
  while (!complete_.empty() && !valid(complete_.top())) complete_.pop();
  if (!complete_.empty()) return take(complete_.top().state, out), true;
  // Without locality a block waits for the oldest batch to need it; some slots ahead of that keep the threads busy
  // while the consumer works, and cost a decode in so many. A block that is kept costs none.
  if (!planning_ && !needed_.empty() &&
      ((options_.blocks_are_kept && options_.blocks_are_kept->load(std::memory_order_relaxed)) ||
       (!steps_->sampler().has_locality() && needed_.top().first_need <= head_ + ring_.size() / kAheadShare)))
    return take(needed_.top().state, out), true;
  return false;
}

void RequestWindow::take(std::uint32_t state, Claim& out) {
  BlockState& b = states_[state];
  out.block = b.block;
  out.epoch = b.epoch;
  out.first = b.claims++ == 0;
  out.last = b.complete;
  out.whole_batch = false;
  out.requests.clear();
  out.runs.clear();
  out.requests.swap(b.requests);
  out.runs.swap(b.runs);
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

bool RequestWindow::claim(Claim& out) {
  Lock lock(mutex_);
  for (;;) {
    if (stopped_) return false;
    if (!planning_ && may_enter()) {
      if (enter_next(lock, out)) return true;
      continue;
    }
    if (pick(out)) {
      if (idle_threads_ > 0 && (!needed_.empty() || !complete_.empty())) work_.notify_one();
      return true;
    }
    ++idle_threads_;
    work_.wait(lock);
    --idle_threads_;
  }
}

void RequestWindow::complete(Claim& claim, std::span<const RowFailure> failures, std::span<const RowDigest> digests) {
  if (!failures.empty() || !digests.empty()) {
    const Lock lock(mutex_);
    for (std::size_t i = 0; i < digests.size(); ++i) claim.runs[i].slot->digest += digests[i];
    for (const SlotRun& run : claim.runs)
      for (std::uint32_t i = run.begin; i < run.end; ++i) {
        const Request request = claim.whole_batch ? Request{i, i} : claim.requests[i];
        if (run.slot->error && run.slot->error_position <= request.position) continue;
        for (const RowFailure& f : failures) {
          if (request.row < f.rows.first || request.row >= f.rows.end()) continue;
          run.slot->error = f.error;
          run.slot->error_position = request.position;
          break;
        }
      }
  }
  for (const SlotRun& run : claim.runs) run.slot->missing.fetch_sub(run.end - run.begin, std::memory_order_acq_rel);
  const Lock lock(mutex_);
  --active_claims_;
  if (consumer_waits_ && head_ready()) ready_.notify_one();
  if (dropping_ && active_claims_ == 0) quiet_.notify_all();
}

// ------------------------------------------------------------------------------------------------------- the consumer

bool RequestWindow::head_ready() const {
  return end_ > head_ && slot(head_).missing.load(std::memory_order_acquire) == 0;
}

void RequestWindow::drop_everything(Lock& lock) {
  dropping_ = true;
  cancelled_.store(true, std::memory_order_relaxed);
  quiet_.wait(lock, [&] { return active_claims_ == 0 && !planning_; });
  for (; head_ < end_; ++head_) slot(head_).memory.reset();
  for (auto& index : state_of_block_) std::fill(index.begin(), index.end(), 0);
  free_states_.clear();
  for (std::uint32_t i = 0; i < states_.size(); ++i) {
    states_[i].requests.clear();
    states_[i].runs.clear();
    ++states_[i].version;
    free_states_.push_back(i);
  }
  needed_ = {};
  complete_ = {};
  cursor_.reset();
  fatal_.reset();
  dropping_ = false;
  cancelled_.store(false, std::memory_order_relaxed);
}

void RequestWindow::start_epoch(std::uint64_t epoch, std::uint64_t position, bool keep) {
  Lock lock(mutex_);
  const bool begins_there =
      keep && started_ && !fatal_ && head_run_.epoch == epoch && head_run_.position == position && head_run_.step == 0;
  if (!begins_there) {
    if (started_) drop_everything(lock);
    head_run_ = run_of(epoch, position);
    if (head_run_.steps == 0 && position > 0) head_run_ = run_of(epoch + 1, 0);  // nothing is left of this one
    enter_run_ = head_run_;
    enter_position_ = enter_run_.position;
  }
  started_ = true;
  consumer_epoch_ = epoch;
  work_.notify_all();
}

bool RequestWindow::wait_head(std::chrono::nanoseconds limit) {
  Lock lock(mutex_);
  const auto settled = [&] {
    return stopped_ || fatal_ || head_run_.ended() || head_run_.epoch != consumer_epoch_ || head_ready();
  };
  if (settled()) return true;
  consumer_waits_ = true;
  if (idle_threads_ > 0) work_.notify_one();  // whatever room there is: see offer_room()
  const bool ok = ready_.wait_for(lock, limit, settled);
  consumer_waits_ = false;
  return ok;
}

Result<std::optional<RequestWindow::Delivered>> RequestWindow::next() {
  while (!wait_head(std::chrono::hours(1))) {
  }
  const Lock lock(mutex_);
  if (stopped_) return Error(ErrorCode::kClosed, "the loader was closed");
  if (fatal_) return *fatal_;
  if (head_run_.ended() || head_run_.epoch != consumer_epoch_) return std::optional<Delivered>();
  WindowSlot& s = slot(head_);
  if (s.error) {
    fatal_ = *s.error;  // the epoch ends here; start_epoch() begins afresh
    return *s.error;
  }
  if (!options_.file_weights.empty() && s.digest.placed != s.expected) {
    fatal_ =
        Error(ErrorCode::kInternal,
              fmt::format("batch {} of epoch {} does not hold the rows that the plan says: a fault of headrace or of "
                          "this machine's memory",
                          s.batch, s.epoch));
    return *fatal_;
  }
  Delivered out{s.epoch, s.batch, s.rows, std::move(s.memory), s.step, s.digest.sums, std::move(s.samples)};
  ++head_;
  if (++head_run_.step == head_run_.steps) head_run_ = run_of(head_run_.epoch + 1, 0);
  offer_room();
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
  std::vector<std::unique_ptr<SlotMemory>> dropped;  // freed without the lock
  const Lock lock(mutex_);
  for (auto& s : ring_) dropped.push_back(std::move(s->memory));
}

void RequestWindow::order_grew() {
  const Lock lock(mutex_);
  if (idle_threads_ > 0) work_.notify_one();
}

void RequestWindow::memory_released() {
  const Lock lock(mutex_);  // taken first: a thread that found no room has said so before it gave the lock up
  if (short_of_memory_.load(std::memory_order_relaxed)) offer_room();
}

/// The window may grow by a slot. Waking a thread costs the consumer's thread up to 40 us where processors sleep, so
/// that is done for several slots at once; a consumer that has to wait wakes one in any case.
void RequestWindow::offer_room() {
  if (idle_threads_ == 0 || ++offers_ <= ring_.size() / kOfferShare) return;
  offers_ = 0;
  short_of_memory_.store(false, std::memory_order_relaxed);
  work_.notify_one();
}

}  // namespace headrace
