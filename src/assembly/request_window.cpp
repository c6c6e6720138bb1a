#include "assembly/request_window.h"

#include <algorithm>
#include <cassert>

#include "base/clock.h"

namespace headrace {

RequestWindow::RequestWindow(std::shared_ptr<const Sampler> sampler, std::shared_ptr<const BlockTable> blocks,
                             std::uint64_t max_slots, std::uint64_t num_batches, SlotAllocator& allocator)
    : sampler_(std::move(sampler)), blocks_(std::move(blocks)), num_batches_(num_batches), allocator_(allocator) {
  ring_.resize(std::max<std::uint64_t>(max_slots, 1));
  for (auto& s : ring_) s = std::make_unique<WindowSlot>();
  for (auto& index : state_of_block_) index.resize(blocks_->num_blocks());
}

// ------------------------------------------------------------------------------------------------ entering the window

bool RequestWindow::may_enter() {
  if (!started_ || dropping_ || fatal_ || num_batches_ == 0 || end_ - head_ >= ring_.size()) return false;
  if (enter_epoch_ > head_epoch_ + 1) return false;  // two epochs at most: states are kept by parity
  const bool room = allocator_.room(consumer_waits_ && end_ == head_);
  short_of_memory_.store(!room, std::memory_order_relaxed);
  return room;
}

/// Plan one batch. The cursor and the memory are worked on without the lock: `planning_` makes this thread their owner.
void RequestWindow::enter_next(Lock& lock) {
  planning_ = true;
  const std::uint64_t epoch = enter_epoch_, batch = enter_batch_, sequence = end_;
  lock.unlock();
  const std::uint64_t start = now_ns();
  if (!cursor_) cursor_ = sampler_->cursor(epoch);
  samples_.clear();
  cursor_->next_batch(samples_);
  Result<std::unique_ptr<SlotMemory>> memory = allocator_.acquire();
  lock.lock();
  if (memory.ok()) {
    WindowSlot& s = slot(sequence);
    s.epoch = epoch;
    s.batch = batch;
    s.rows = static_cast<std::uint32_t>(samples_.size());
    s.missing.store(s.rows, std::memory_order_relaxed);
    s.memory = std::move(*memory);
    s.error.reset();
    insert(s, sequence, samples_);
    ++end_;
    if (++enter_batch_ == num_batches_) {
      finish_entering(epoch);
      ++enter_epoch_;
      enter_batch_ = 0;
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
}

void RequestWindow::insert(WindowSlot& s, std::uint64_t sequence, const std::vector<SampleRef>& samples) {
  auto& index = state_of_block_[s.epoch & 1];
  for (std::uint32_t position = 0; position < samples.size(); ++position) {
    const SampleRef sample = samples[position];
    const std::uint32_t known = index[sample.block];
    BlockState& b = known ? states_[known - 1] : state_of(sample.block, s.epoch, sequence);
    if (b.requests.empty()) {
      b.first_need = sequence;
      needed_.push({sequence, index[sample.block] - 1, b.version});
    }
    if (b.runs.empty() || b.runs.back().slot != &s)
      b.runs.push_back({&s, static_cast<std::uint32_t>(b.requests.size()), 0});
    b.requests.push_back({sample.row, position});
    b.runs.back().end = static_cast<std::uint32_t>(b.requests.size());
    if (++b.asked == b.block_rows && sampler_->is_permutation()) mark_complete(index[sample.block] - 1);
  }
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
  b.complete = false;
  b.first_need = sequence;
  b.block_rows = blocks_->block_rows(block);
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
    if (!b.requests.empty()) {
      if (!b.complete) mark_complete(i);
    } else {
      index[b.block] = 0;
      free_states_.push_back(i);
    }
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
  return false;
}

void RequestWindow::take(std::uint32_t state, Claim& out) {
  BlockState& b = states_[state];
  out.block = b.block;
  out.epoch = b.epoch;
  out.first = b.claims++ == 0;
  out.requests.clear();
  out.runs.clear();
  out.requests.swap(b.requests);
  out.runs.swap(b.runs);
  ++b.version;
  ++active_claims_;
  if (b.complete) {
    state_of_block_[b.epoch & 1][b.block] = 0;
    free_states_.push_back(state);
  }
}

bool RequestWindow::claim(Claim& out) {
  Lock lock(mutex_);
  for (;;) {
    if (stopped_) return false;
    if (!planning_ && may_enter()) {
      enter_next(lock);
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

void RequestWindow::complete(Claim& claim, std::span<const RowFailure> failures) {
  if (!failures.empty()) {
    const Lock lock(mutex_);
    for (const SlotRun& run : claim.runs)
      for (std::uint32_t i = run.begin; i < run.end; ++i) {
        const Request request = claim.requests[i];
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

void RequestWindow::start_epoch(std::uint64_t epoch) {
  Lock lock(mutex_);
  const bool begins_there = started_ && !fatal_ && head_epoch_ == epoch && head_batch_ == 0;
  if (!begins_there) {
    if (started_) drop_everything(lock);
    head_epoch_ = enter_epoch_ = epoch;
    head_batch_ = enter_batch_ = 0;
  }
  started_ = true;
  consumer_epoch_ = epoch;
  work_.notify_all();
}

bool RequestWindow::wait_head(std::chrono::nanoseconds limit) {
  Lock lock(mutex_);
  const auto settled = [&] {
    return stopped_ || fatal_ || num_batches_ == 0 || head_epoch_ != consumer_epoch_ || head_ready();
  };
  if (settled()) return true;
  consumer_waits_ = true;
  if (end_ == head_ && idle_threads_ > 0)
    work_.notify_one();  // an empty window may enter one slot for a waiting consumer
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
  if (num_batches_ == 0 || head_epoch_ != consumer_epoch_) return std::optional<Delivered>();
  WindowSlot& s = slot(head_);
  if (s.error) {
    fatal_ = *s.error;  // the epoch ends here; start_epoch() begins afresh
    return *s.error;
  }
  Delivered out{s.epoch, s.batch, s.rows, std::move(s.memory)};
  ++head_;
  if (++head_batch_ == num_batches_) {
    ++head_epoch_;
    head_batch_ = 0;
  }
  if (idle_threads_ > 0) work_.notify_one();
  return std::optional<Delivered>(std::move(out));
}

void RequestWindow::stop() {
  const Lock lock(mutex_);
  stopped_ = true;
  cancelled_.store(true, std::memory_order_relaxed);
  work_.notify_all();
  ready_.notify_all();
}

void RequestWindow::memory_released() {
  const Lock lock(mutex_);  // taken first: a thread that found no room has said so before it gave the lock up
  if (!short_of_memory_.exchange(false, std::memory_order_relaxed)) return;
  if (idle_threads_ > 0) work_.notify_one();
}

}  // namespace headrace
