#include "base/fork_safe_mutex.h"

#include <pthread.h>

namespace headrace {
namespace {

/// Shared by threads that hold fork() back, taken alone by a fork.
class Gate {
 public:
  static Gate& process() {
    static Gate& gate = *new Gate;  // never destroyed: threads may still run while the process exits
    return gate;
  }

  void enter() {
    if (depth_++ == 0) pthread_rwlock_rdlock(&lock_);
  }
  void leave() {
    if (--depth_ == 0) pthread_rwlock_unlock(&lock_);
  }

 private:
  Gate() {
    make();
    pthread_atfork([] { pthread_rwlock_wrlock(&process().lock_); }, [] { pthread_rwlock_unlock(&process().lock_); },
                   [] { process().make(); });  // the child's thread has another id, so it may not unlock
  }

  /// A fork does not wait behind threads that came after it; for that, no thread takes the lock twice (depth_).
  void make() {
    pthread_rwlockattr_t kind;
    pthread_rwlockattr_init(&kind);
    pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&lock_, &kind);
    pthread_rwlockattr_destroy(&kind);
  }

  pthread_rwlock_t lock_;
  static thread_local int depth_;
};

thread_local int Gate::depth_ = 0;

/// Made as the program is loaded: a fork that begins while the first lock is taken waits too.
[[maybe_unused]] const Gate& made_early = Gate::process();

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
