#include "base/notices.h"

#include <algorithm>

namespace headrace {

void Notices::add(Of of, const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (notices_.size() > kMost || std::ranges::find(notices_, text, &Notice::text) != notices_.end()) return;
  notices_.push_back({of, notices_.size() < kMost ? text : "There is more of this kind, which is not told."});
  count_.store(notices_.size(), std::memory_order_relaxed);
}

std::vector<std::string> Notices::all() const {
  std::vector<std::string> texts;
  const std::lock_guard lock(mutex_);
  for (const Notice& notice : notices_) texts.push_back(notice.text);
  return texts;
}

std::vector<std::string> Notices::all(Of of) const {
  std::vector<std::string> texts;
  const std::lock_guard lock(mutex_);
  for (const Notice& notice : notices_)
    if (notice.of == of) texts.push_back(notice.text);
  return texts;
}

}  // namespace headrace
