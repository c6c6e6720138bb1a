// FdPool: how many descriptors local files keep open at once. 660 files work where 64 may be open.
//
// A read pins its file's descriptor with one atomic add and unpins it with another. Opening takes the file's own lock,
// so that slow opens of different files run side by side; the pool's lock is held for its list alone, not for a call to
// the system. When the pool is full the clock hand takes out a descriptor that is not pinned and was not used lately.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/threads/fork_safe_mutex.h"
#include "storage/file_calls.h"

namespace headrace {

/// A file that the pool may close and reopen. Owner: the file; it must leave() the pool before it dies.
class PooledFd {
 public:
  virtual ~PooledFd() = default;

 protected:
  friend class FdPool;
  /// \param calls  Close its descriptors, also after the file's end.
  explicit PooledFd(const FileCalls& calls) : calls_(calls) {}
  /// Open the descriptor. Called under opening(). kReadFailed with errno EMFILE/ENFILE goes through
  /// `out_of_descriptors`.
  virtual Result<int> open_descriptor(bool& out_of_descriptors) = 0;
  /// Return the lock under which the descriptor of this file is opened, or replaced while it is pinned.
  [[nodiscard]] ForkSafeMutex& opening() { return opening_; }

 private:
  static constexpr std::uint64_t kOpen = std::uint64_t{1} << 32;  // the low half counts pins
  const FileCalls& calls_;
  std::atomic<std::uint64_t> state_{0};
  std::atomic<bool> used_{false};
  ForkSafeMutex opening_;  // taken before the pool's lock
  int fd_ = -1;            // written under the pool's lock while not open; published by kOpen
};

class FdPool {
 public:
  /// Allow `limit` descriptors at once, 1 at least. More only while more than `limit` files are being read at one
  /// moment.
  explicit FdPool(std::size_t limit);
  FdPool(const FdPool&) = delete;
  FdPool& operator=(const FdPool&) = delete;

  /// Return a quarter of RLIMIT_NOFILE, 1024 at most: the rest is the program's.
  static std::size_t default_limit();
  /// Return what HEADRACE_MAX_OPEN_FILES says (`setting`, null if unset), half of RLIMIT_NOFILE at most; else
  /// default_limit(). Errors: kInvalidArgument for what is no number of at least 1.
  static Result<std::size_t> limit_of(const char* setting);
  /// Return the pool of the whole process, of the size that the environment says when it is first used. Safe over
  /// fork().
  static FdPool& process();
  /// Return the error of that setting, if it is wrong: the pool has the default size then.
  static const Status& process_setting();

  /// Keep the descriptor of `file` open until unpin. Opens it if need be.
  Result<int> pin(PooledFd& file) {
    const std::uint64_t before = file.state_.fetch_add(1, std::memory_order_acquire);
    if (before & PooledFd::kOpen) {
      if (!file.used_.load(std::memory_order_relaxed)) file.used_.store(true, std::memory_order_relaxed);
      return file.fd_;
    }
    file.state_.fetch_sub(1, std::memory_order_relaxed);
    return pin_slow(file);
  }
  static void unpin(PooledFd& file) { file.state_.fetch_sub(1, std::memory_order_release); }

  /// Take in a descriptor that was opened just now.
  void adopt(PooledFd& file, int fd);
  /// Close the descriptor of `file`, which no read pins, and forget it.
  void leave(PooledFd& file);
  /// Close one descriptor that is not in use; false if there is none.
  bool close_one();

  [[nodiscard]] std::size_t limit() const { return limit_; }
  [[nodiscard]] std::size_t num_open() const;

 private:
  Result<int> pin_slow(PooledFd& file);
  /// Descriptors that were taken out of the pool: closed with the end of this, which is after that of the lock. Needs
  /// no memory.
  class Evicted {
   public:
    ~Evicted() { close_all(); }
    [[nodiscard]] bool full() const { return count_ == closing_.size(); }
    void add(const PooledFd& file, int fd) { closing_[count_++] = {&file.calls_, fd}; }
    void close_all();

   private:
    struct Closing {
      const FileCalls* calls = nullptr;
      int fd = -1;
    };
    std::array<Closing, 4> closing_;
    std::size_t count_ = 0;
  };
  void publish(PooledFd& file, int fd, std::uint64_t pins);
  bool evict_one(Evicted& evicted);
  void make_room(Evicted& evicted);

  const std::size_t limit_;
  mutable ForkSafeMutex mutex_;
  std::vector<PooledFd*> open_;
  std::size_t hand_ = 0;
  std::size_t num_opening_ = 0;  // files that pin_slow() opens just now
};

}  // namespace headrace
