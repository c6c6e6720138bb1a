// MadeOnce: a value of the process that is made at its first use, while no fork() begins.
//
// A static of a function is not enough: a child of fork() that needs one which a thread of its parent was just making
// waits for that thread for ever.
#pragma once

#include <atomic>
#include <mutex>

#include "base/threads/fork_safe_mutex.h"

namespace headrace {

/// To be static itself: it needs no code to begin with. The value is never destroyed, so that it outlives static users.
/// Threads: get() from any thread.
template <class T>
class MadeOnce {
 public:
  /// Return the value; `make()` makes it where it is not there yet, and must not ask for it.
  template <class Make>
  const T& get(Make&& make) {
    if (const T* const known = made_.load(std::memory_order_acquire)) return *known;
    const std::lock_guard guard(making_);  // fork() waits for its holder
    if (const T* const known = made_.load(std::memory_order_acquire)) return *known;
    const T* const made = new T(make());
    made_.store(made, std::memory_order_release);
    return *made;
  }

 private:
  std::atomic<const T*> made_{nullptr};
  ForkSafeMutex making_;
};

}  // namespace headrace
