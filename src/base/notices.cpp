#include "base/notices.h"

#include <algorithm>

namespace headrace {

void Notices::add(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (texts_.size() > kMost || std::ranges::find(texts_, text) != texts_.end()) return;
  texts_.push_back(texts_.size() < kMost ? text : "There is more of this kind, which is not told.");
  count_.store(texts_.size(), std::memory_order_relaxed);
}

std::vector<std::string> Notices::all() const {
  const std::lock_guard lock(mutex_);
  return texts_;
}

}  // namespace headrace
