// The part of RequestWindow that drops slots: memory goes to others, or another epoch begins.
#include <algorithm>

#include "assembly/window/request_window.h"

namespace headrace {

/// Drop the slots from `kept_end` on, as soon as no thread works for the window: at once, or when the last one that
/// does is done, which is told to give up. Until then `dropping_`, and nothing is claimed or enters. With the lock.
void RequestWindow::begin_drop(std::uint64_t kept_end) {
  dropping_ = true;
  kept_end_ = kept_end;
  if (options_.listener) options_.listener->forget_all();
  cancelled_.store(true, std::memory_order_relaxed);
  drop_if_quiet();
}

/// With the lock.
void RequestWindow::drop_if_quiet() noexcept {
  if (!dropping_ || active_claims_ > 0 || planning_) return;
  if (restarting_)  // the consumer's thread goes on, before any other gets the lock
    quiet_.notify_all();
  else
    finish_drop();
}

/// What was filed for slots that are kept has been served. The order begins anew with the first slot that is dropped,
/// or with the one that would have entered next.
void RequestWindow::finish_drop() noexcept {
  enter_run_ = {enter_run_.epoch, enter_position_, enter_run_.steps - enter_run_.step, 0};
  for (; end_ > kept_end_; --end_) {
    WindowSlot& s = slot(end_ - 1);
    const std::uint64_t left = s.epoch == enter_run_.epoch ? enter_run_.steps : 0;
    enter_run_ = {s.epoch, s.content.step.begin, left + 1, 0};
    s.memory.reset();
    s.content = {};
  }
  slot(end_).memory.reset();  // of a batch that was half in
  enter_position_ = enter_run_.position;
  for (auto& index : state_of_unit_) std::fill(index.begin(), index.end(), 0);
  for (const std::uint64_t parity : {0, 1}) forget_progress(parity);
  finishing_.clear();
  has_planned_ = false;
  free_states_.clear();
  for (std::uint32_t i = 0; i < states_.size(); ++i) {
    states_[i].requests = {};
    states_[i].runs = {};
    ++states_[i].version;
    free_states_.push_back(i);
  }
  needed_ = {};
  complete_ = {};
  cursor_.reset();
  whole_batches_ = false;
  short_of_memory_.store(false, std::memory_order_relaxed);
  dropping_ = false;
  cancelled_.store(stopped_, std::memory_order_relaxed);
  quiet_.notify_all();
  work_.notify_all();
}

void RequestWindow::carry_claims(const RequestWindow& before) {
  const Lock lock(mutex_);
  for (const std::size_t parity : {0, 1}) {
    if (before.claimed_[parity].units.size() != claimed_[parity].units.size()) continue;
    claimed_[parity] = {before.claimed_[parity].units, true};
  }
}

bool RequestWindow::shrink(std::uint64_t slots, std::chrono::nanoseconds limit) {
  Lock lock(mutex_);
  if (!started_ || stopped_ || fatal_) return true;
  if (!dropping_) {
    std::uint64_t kept = head_;
    while ((kept == head_ || kept - head_ < slots) && is_ready(kept)) ++kept;
    if (kept == end_) return true;
    for (Claimed& of_epoch : claimed_) of_epoch.again = true;
    begin_drop(kept);
  }
  return quiet_.wait_for(lock, limit, [&] { return !dropping_; });
}

}  // namespace headrace
