#include "storage/fd_pool.h"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <string>
#include <string_view>

namespace headrace {
namespace {

/// Descriptors that the process may have.
std::size_t system_limit() {
  struct rlimit limit {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::numeric_limits<std::size_t>::max();
  return limit.rlim_cur;
}

}  // namespace

FdPool::FdPool(std::size_t limit) : limit_(std::max<std::size_t>(limit, 1)) {
  open_.reserve(std::min<std::size_t>(limit_, 1024));
}

std::size_t FdPool::default_limit() {
  constexpr std::size_t kMost = 1024;  // more gains nothing: opening a file again takes microseconds
  return std::clamp<std::size_t>(system_limit() / 4, 1, kMost);
}

Result<std::size_t> FdPool::limit_of(const char* setting) {
  if (setting == nullptr || *setting == '\0') return default_limit();
  const std::string_view text(setting);
  std::size_t limit = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
  if (error == std::errc() && stop == text.data() + text.size() && limit > 0)
    return std::min(limit, std::max<std::size_t>(system_limit() / 2, 1));
  return Error(ErrorCode::kInvalidArgument,
               "HEADRACE_MAX_OPEN_FILES is '" + std::string(text) + "'; a number of at least 1 is expected")
      .with_hint(
          "It says how many files are held open at once. Without it they are a quarter of "
          "ulimit -n, 1024 at most.");
}

namespace {
const Result<std::size_t>& limit_of_process() {
  static const auto& limit = *new Result<std::size_t>(
      FdPool::limit_of(std::getenv("HEADRACE_MAX_OPEN_FILES")));  // NOLINT(concurrency-mt-unsafe)
  return limit;
}
}  // namespace

FdPool& FdPool::process() {
  static FdPool& pool = *new FdPool(  // never destroyed: files may outlive static destruction
      limit_of_process().ok() ? *limit_of_process() : default_limit());
  return pool;
}

const Status& FdPool::process_setting() {
  static const auto& status = *new Status(limit_of_process().ok() ? Status() : Status(limit_of_process().error()));
  return status;
}

void FdPool::publish(PooledFd& file, int fd, std::uint64_t pins) {
  file.fd_ = fd;
  file.used_.store(true, std::memory_order_relaxed);
  open_.push_back(&file);
  file.state_.fetch_add(PooledFd::kOpen + pins, std::memory_order_release);
}

void FdPool::Evicted::close_all() {
  while (count_ > 0) {
    --count_;
    closing_[count_].calls->close(closing_[count_].fd);
  }
}

bool FdPool::evict_one(Evicted& evicted) {
  // Two turns clear every mark, so a third look finds whatever is not pinned.
  for (std::size_t looks = 0; looks < 3 * open_.size() && !evicted.full(); ++looks) {
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
    evicted.add(file, fd);
    return true;
  }
  return false;
}

void FdPool::make_room(Evicted& evicted) {
  while (open_.size() + num_opening_ >= limit_ && evict_one(evicted)) {
  }
}

Result<int> FdPool::pin_slow(PooledFd& file) {
  const std::lock_guard opening(file.opening_);
  Evicted evicted;
  std::unique_lock guard(mutex_);
  if (file.state_.load(std::memory_order_relaxed) & PooledFd::kOpen) {  // another thread opened it meanwhile
    file.state_.fetch_add(1, std::memory_order_acquire);
    return file.fd_;
  }
  make_room(evicted);
  ++num_opening_;
  for (;;) {
    guard.unlock();
    evicted.close_all();
    bool out_of_descriptors = false;
    auto fd = file.open_descriptor(out_of_descriptors);
    guard.lock();
    if (!fd.ok() && out_of_descriptors && evict_one(evicted)) continue;
    --num_opening_;
    if (fd.ok()) publish(file, *fd, 1);
    return fd;
  }
}

void FdPool::adopt(PooledFd& file, int fd) {
  Evicted evicted;
  const std::lock_guard guard(mutex_);
  make_room(evicted);
  publish(file, fd, 0);
}

void FdPool::leave(PooledFd& file) {
  Evicted evicted;
  const std::lock_guard guard(mutex_);
  const auto it = std::find(open_.begin(), open_.end(), &file);
  if (it == open_.end()) return;
  *it = open_.back();
  open_.pop_back();
  file.state_.fetch_and(PooledFd::kOpen - 1, std::memory_order_acquire);
  evicted.add(file, file.fd_);
  file.fd_ = -1;
}

bool FdPool::close_one() {
  Evicted evicted;
  const std::lock_guard guard(mutex_);
  return evict_one(evicted);
}

std::size_t FdPool::num_open() const {
  const std::lock_guard guard(mutex_);
  return open_.size();
}

}  // namespace headrace
