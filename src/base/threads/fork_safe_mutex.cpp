#include "base/threads/fork_safe_mutex.h"

#include <pthread.h>

#include <condition_variable>
#include <cstdint>

namespace headrace {
namespace {

/// Counts the threads that hold fork() back; a fork waits until there are none, and newcomers wait until it is done.
class Gate {
 public:
  static Gate& process() {
    static Gate& gate = *new Gate;  // never destroyed: threads may still run while the process exits
    return gate;
  }

  void enter() {
    if (depth_++ > 0) return;  // a thread that holds one lock gets others although a fork waits
    std::unique_lock lock(mutex_);
    changed_->wait(lock, [&] { return !forking_; });
    ++inside_;
  }
  void leave() {
    if (--depth_ > 0) return;
    const std::lock_guard lock(mutex_);
    if (--inside_ == 0 && forking_) changed_->notify_all();
  }

 private:
  Gate() {
    pthread_atfork([] { process().begin_fork(); }, [] { process().end_fork(); },
                   [] {
                     // Threads that wait on the old one are not in the child: its destructor would wait for them.
                     process().changed_ = new std::condition_variable;
                     process().end_fork();
                   });
  }
  void begin_fork() {
    std::unique_lock lock(mutex_);
    changed_->wait(lock, [&] { return !forking_; });
    forking_ = true;
    changed_->wait(lock, [&] { return inside_ == 0; });
    lock.release();  // until end_fork(), here and in the child
  }
  void end_fork() {
    forking_ = false;
    changed_->notify_all();
    mutex_.unlock();
  }

  std::mutex mutex_;
  std::condition_variable* changed_ = new std::condition_variable;
  std::uint64_t inside_ = 0;
  bool forking_ = false;
  static thread_local int depth_;
};

thread_local int Gate::depth_ = 0;

/// Made as the program is loaded: a fork that begins while the first lock is taken waits too.
[[maybe_unused]] const Gate& gate_early = Gate::process();  // NOLINT(bugprone-throwing-static-initialization)

}  // namespace

void ForkSafeMutex::lock() {
  Gate::process().enter();  // first: a thread that waits for the mutex holds fork() back as well
  mutex_.lock();
}

void ForkSafeMutex::unlock() {
  mutex_.unlock();
  Gate::process().leave();
}

}  // namespace headrace
