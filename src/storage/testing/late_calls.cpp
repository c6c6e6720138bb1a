#include "storage/testing/late_calls.h"

#include <algorithm>
#include <cerrno>
#include <thread>

namespace headrace::testing {

bool LateCalls::wait(std::string_view path) const {
  const Answer answer = answer_(calls_.fetch_add(1), path);
  const int now = at_once_.fetch_add(1) + 1;
  for (int most = most_; most < now && !most_.compare_exchange_weak(most, now);) {
  }
  if (answer.after.count() > 0) std::this_thread::sleep_for(answer.after);
  if (answer.hangs) {
    std::unique_lock lock(mutex_);
    released_.wait(lock, [&] { return let_go_; });
  }
  at_once_.fetch_sub(1);
  errno = answer.error;
  return answer.error == 0;
}

void LateCalls::let_go() {
  const std::lock_guard lock(mutex_);
  let_go_ = true;
  released_.notify_all();
}

}  // namespace headrace::testing
