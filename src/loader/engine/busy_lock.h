// BusyLock: the lock of a loader while it changes. Its holder may call functions of the program, which may wait for any
// other thread: that thread learns so, instead of waiting for the holder.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace headrace {

/// For std::lock_guard and std::unique_lock. A thread has it once at most.
class BusyLock {
 public:
  /// Take the lock. Blocks: while another thread has it.
  void lock() {
    std::unique_lock state(state_mutex_);
    changed_.wait(state, [&] { return is_free(); });
    owner_ = std::this_thread::get_id();
  }
  /// \return False if a thread has it, this one too.
  bool try_lock() {
    const std::unique_lock state(state_mutex_, std::try_to_lock);
    if (!state || !is_free()) return false;
    owner_ = std::this_thread::get_id();
    return true;
  }
  /// As lock(). \return False once the thread that has it is in a function of the program, or if it is this one.
  bool lock_unless_outside() {
    if (is_mine()) return false;
    std::unique_lock state(state_mutex_);
    changed_.wait(state, [&] { return is_free() || outside_; });
    if (!is_free()) return false;
    owner_ = std::this_thread::get_id();
    return true;
  }
  void unlock() {
    {
      const std::lock_guard state(state_mutex_);
      owner_ = std::thread::id();
    }
    changed_.notify_all();
  }
  [[nodiscard]] bool is_mine() const { return owner_ == std::this_thread::get_id(); }

  /// While it lives, its thread, which has the lock, is in a function of the program.
  class Outside {
   public:
    explicit Outside(BusyLock& lock) : lock_(lock) {
      {
        const std::lock_guard state(lock_.state_mutex_);
        lock_.outside_ = true;
      }
      lock_.changed_.notify_all();
    }
    ~Outside() {
      const std::lock_guard state(lock_.state_mutex_);
      lock_.outside_ = false;
    }
    Outside(const Outside&) = delete;
    Outside& operator=(const Outside&) = delete;

   private:
    BusyLock& lock_;
  };

 private:
  [[nodiscard]] bool is_free() const { return owner_.load() == std::thread::id(); }

  std::mutex state_mutex_;  // of what follows; held for moments
  std::condition_variable changed_;
  std::atomic<std::thread::id> owner_{};
  bool outside_ = false;
};

}  // namespace headrace
