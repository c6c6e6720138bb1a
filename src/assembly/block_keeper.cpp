#include "assembly/block_keeper.h"

#include <algorithm>

namespace headrace {

void BlockKeeper::give_up(const std::string& why) {
  if (!gave_up_.exchange(true)) note(why);
}

void BlockKeeper::note(const std::string& text) {
  const std::lock_guard lock(mutex_);
  constexpr std::size_t kMostNotes = 16;
  if (notes_.size() > kMostNotes || std::find(notes_.begin(), notes_.end(), text) != notes_.end()) return;
  notes_.push_back(notes_.size() < kMostNotes ? text : "There is more of this kind, which is not told.");
  num_notes_.store(notes_.size(), std::memory_order_relaxed);
}

std::vector<std::string> BlockKeeper::notes() const {
  const std::lock_guard lock(mutex_);
  return notes_;
}

BlockKeeper::Last BlockKeeper::last() const {
  const std::lock_guard lock(mutex_);
  Last last = last_;
  if (rows) last = {{}, rows->ready_blocks(), true, false, rows->complete()};
  if (blocks) last = {blocks->usage(), 0, false, true, false};
  return last;
}

void BlockKeeper::let_go() {
  const Last now = last();
  std::shared_ptr<RowStore> old_rows;  // these end without the lock
  std::shared_ptr<BlockCache> old_blocks;
  MemoryReservation memory;
  const std::lock_guard lock(mutex_);
  last_ = now;
  old_rows.swap(rows);
  old_blocks.swap(blocks);
  memory = std::move(reservation);
  if (old_blocks) old_blocks->close();
}

void BlockKeeper::set_complete_callback(std::function<void()> callback) {
  const std::lock_guard lock(mutex_);
  on_complete_ = std::move(callback);
}

void BlockKeeper::tell_complete() {
  const std::lock_guard lock(mutex_);
  if (on_complete_) on_complete_();
}

}  // namespace headrace
