#include "assembly/kept/decoded_cache.h"

#include <fmt/format.h>

namespace headrace {

RowStore::Lookup DecodedCache::look_up(std::size_t group, std::uint64_t block) {
  RowStore& store = (*rows)[group];
  const RowStore::Lookup found = store.look_up(block);
  if (found != RowStore::Lookup::kBusy) return found;
  {
    const std::lock_guard lock(mutex_);
    if (stuck_.contains({group, block})) return found;
  }
  store.wait(block, patience);
  const RowStore::Lookup then = store.look_up(block);
  if (then == RowStore::Lookup::kBusy) {
    const std::lock_guard lock(mutex_);
    stuck_.insert({group, block});
  }
  return then;
}

void DecodedCache::disable(const std::string& why) {
  if (!disabled_.exchange(true)) notice(why);
}

std::string DecodedCache::text_of(const Error& error, std::string_view consequence) {
  const std::string text = error.what();
  return fmt::format("{}{} {}", text, text.ends_with('.') ? "" : ".", consequence);
}

std::string DecodedCache::reason_of(std::string text) {
  if (text.ends_with(kGoesOn)) text.resize(text.size() - kGoesOn.size());
  while (text.ends_with(' ') || text.ends_with('.')) text.pop_back();  // an error puts its own full stop
  return text;
}

DecodedCache::Last DecodedCache::last() const {
  const std::lock_guard lock(mutex_);
  Last last = last_;
  if (rows) last = {{}, rows->ready_units(), rows->num_units(), true, false, rows->complete()};
  if (blocks) last = {blocks->usage(), 0, 0, false, true, false};
  return last;
}

void DecodedCache::settle_charge() {
  if (rows && rows->take_charge() && !reservation.resize(rows->charged_bytes()).ok()) rows->drop_charge();
}

void DecodedCache::release_memory() {
  const Last now = last();
  std::shared_ptr<RowStores> old_rows;  // these end without the lock
  std::shared_ptr<BlockCache> old_blocks;
  MemoryReservation memory;
  const std::lock_guard lock(mutex_);
  is_released_ = true;
  if (engines_with_stuck_threads_ > 0) return;
  last_ = now;
  old_rows.swap(rows);
  old_blocks.swap(blocks);
  memory = std::move(reservation);
  if (old_blocks) old_blocks->close();
}

void DecodedCache::leave_to_threads() {
  const std::lock_guard lock(mutex_);
  ++engines_with_stuck_threads_;
}

void DecodedCache::threads_ended() {
  {
    const std::lock_guard lock(mutex_);
    if (--engines_with_stuck_threads_ > 0 || !is_released_) return;
  }
  release_memory();
}

void DecodedCache::set_complete_callback(std::function<void()> callback) {
  const std::lock_guard lock(mutex_);
  on_complete_ = std::move(callback);
}

void DecodedCache::notify_complete() {
  const std::lock_guard lock(mutex_);
  if (on_complete_) on_complete_();
}

}  // namespace headrace
