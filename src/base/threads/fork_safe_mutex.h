// ForkSafeMutex: a lock that a child of fork() never finds taken.
//
// A child has only the thread that forked. A lock that another thread held at that moment stays taken in the child for
// good, so whatever a child may use (open files, budgets, libhdf5) is kept behind locks that fork() waits for. One wait
// for all of them, not a handler for each: handlers would have to take the locks in the order in which threads do.
#pragma once

#include <mutex>

namespace headrace {

/// A mutex, for std::lock_guard and std::unique_lock, while whose holder works no fork() begins: fork() waits, so what
/// is done under it should be short. A thread may hold several of them, and must not fork while it holds one.
class ForkSafeMutex {
 public:
  ForkSafeMutex() = default;
  void lock();
  void unlock();

 private:
  std::mutex mutex_;
};

}  // namespace headrace
