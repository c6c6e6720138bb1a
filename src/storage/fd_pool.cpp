#include "storage/fd_pool.h"

#include <sys/resource.h>

#include <algorithm>
#include <mutex>

namespace headrace {

FdPool::FdPool(std::size_t limit) : limit_(std::max<std::size_t>(limit, 1)) {
  open_.reserve(std::min<std::size_t>(limit_, 1024));
}

std::size_t FdPool::quarter_of_system_limit() {
  struct rlimit limit {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 1024;
  return std::max<std::size_t>(limit.rlim_cur / 4, 1);
}

FdPool& FdPool::process() {
  static FdPool& pool =
      *new FdPool(quarter_of_system_limit());  // never destroyed: files may outlive static destruction
  return pool;
}

void FdPool::publish(PooledFd& file, int fd, std::uint64_t pins) {
  file.fd_ = fd;
  file.used_.store(true, std::memory_order_relaxed);
  open_.push_back(&file);
  file.state_.fetch_add(PooledFd::kOpen + pins, std::memory_order_release);
}

bool FdPool::evict_one() {
  // Two turns clear every mark, so a third look finds whatever is not pinned.
  for (std::size_t looks = 0; looks < 3 * open_.size(); ++looks) {
    if (hand_ >= open_.size()) hand_ = 0;
    PooledFd& file = *open_[hand_];
    if (file.used_.exchange(false, std::memory_order_relaxed)) {
      ++hand_;
      continue;
    }
    std::uint64_t expected = PooledFd::kOpen;  // open and not pinned
    if (!file.state_.compare_exchange_strong(expected, 0, std::memory_order_acquire, std::memory_order_relaxed)) {
      ++hand_;
      continue;
    }
    const int fd = file.fd_;
    file.fd_ = -1;
    open_[hand_] = open_.back();
    open_.pop_back();
    file.close_descriptor(fd);
    return true;
  }
  return false;
}

Result<int> FdPool::pin_slow(PooledFd& file) {
  const std::lock_guard guard(mutex_);
  if (file.state_.load(std::memory_order_relaxed) & PooledFd::kOpen) {  // another thread opened it meanwhile
    file.state_.fetch_add(1, std::memory_order_acquire);
    return file.fd_;
  }
  while (open_.size() >= limit_ && evict_one()) {
  }
  for (;;) {
    bool out_of_descriptors = false;
    auto fd = file.open_descriptor(out_of_descriptors);
    if (fd.ok()) {
      publish(file, *fd, 1);
      return *fd;
    }
    if (!out_of_descriptors || !evict_one()) return std::move(fd.error());
  }
}

void FdPool::adopt(PooledFd& file, int fd) {
  const std::lock_guard guard(mutex_);
  while (open_.size() >= limit_ && evict_one()) {
  }
  publish(file, fd, 0);
}

void FdPool::leave(PooledFd& file) {
  const std::lock_guard guard(mutex_);
  const auto it = std::find(open_.begin(), open_.end(), &file);
  if (it == open_.end()) return;
  *it = open_.back();
  open_.pop_back();
  file.state_.fetch_and(PooledFd::kOpen - 1, std::memory_order_acquire);
  file.close_descriptor(file.fd_);
  file.fd_ = -1;
}

bool FdPool::close_one() {
  const std::lock_guard guard(mutex_);
  return evict_one();
}

std::size_t FdPool::num_open() const {
  const std::lock_guard guard(mutex_);
  return open_.size();
}

}  // namespace headrace
