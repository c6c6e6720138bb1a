#include "assembly/pieces/side_chunks.h"

#include <algorithm>
#include <exception>
#include <optional>

#include "base/thrown.h"

namespace headrace {

Result<std::shared_ptr<const DecodedPart>> SideChunks::get(const Key& key,
                                                           const std::function<Result<DecodedPart>()>& decode) {
  std::unique_lock lock(mutex_);
  for (auto it = entries_.find(key); it != entries_.end(); it = entries_.find(key)) {
    if (it->second.part) {
      recent_.splice(recent_.begin(), recent_, it->second.place);
      return it->second.part;
    }
    decoded_.wait(lock);
  }
  std::list<Key> place{key};
  entries_[key];
  lock.unlock();
  std::shared_ptr<const DecodedPart> part;
  std::optional<Error> error;
  try {
    Result<DecodedPart> fresh = decode();
    if (fresh.ok())
      part = std::make_shared<const DecodedPart>(std::move(*fresh));
    else
      error = fresh.error();
  } catch (const std::exception& e) {  // others wait for this thread
    error = error_of(e);
  }
  lock.lock();
  decoded_.notify_all();
  if (error) {
    entries_.erase(key);
    return *error;
  }
  recent_.splice(recent_.begin(), place);
  entries_[key] = {part, recent_.begin()};
  kept_bytes_ += part->data.charged_bytes();
  peak_bytes_ = std::max(peak_bytes_, kept_bytes_);
  evict();
  return part;
}

void SideChunks::evict() {
  while (kept_bytes_ > capacity_bytes_ && !recent_.empty()) {
    const auto last = entries_.find(recent_.back());
    kept_bytes_ -= last->second.part->data.charged_bytes();
    entries_.erase(last);
    recent_.pop_back();
  }
}

void SideChunks::clear() {
  const std::lock_guard lock(mutex_);
  for (const Key& key : recent_) entries_.erase(key);
  recent_.clear();
  kept_bytes_ = 0;
}

}  // namespace headrace
