// BoundedByteQueue: between threads, bounded in bytes, because items differ a thousandfold in size and memory is what
// runs out.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

namespace headrace {

/// First in, first out. Threads: any number of producers and consumers. Waits sleep on condition variables.
template <class T>
class BoundedByteQueue {
 public:
  /// Holds items of up to `capacity_bytes` together; one larger item is let in while the queue is empty, or it never
  /// could be.
  explicit BoundedByteQueue(std::uint64_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}

  /// Put an item in; false, and the item is dropped, if the queue was closed or `stop` requested first. Blocks: until
  /// there is room.
  bool push(T item, std::uint64_t bytes, std::stop_token stop = {}) {
    std::unique_lock guard(mutex_);
    const bool woken = room_.wait(guard, std::move(stop), [&] { return closed_ || fits(bytes); });
    if (!woken || closed_) return false;
    add(std::move(item), bytes);
    return true;
  }
  /// push() that gives up instead of waiting.
  bool try_push(T item, std::uint64_t bytes) {
    const std::lock_guard guard(mutex_);
    if (closed_ || !fits(bytes)) return false;
    add(std::move(item), bytes);
    return true;
  }

  /// Take the oldest item out; nullopt once the queue is closed and empty, or `stop` was requested. Blocks: until there
  /// is an item.
  std::optional<T> pop(std::stop_token stop = {}) {
    std::unique_lock guard(mutex_);
    const bool woken = items_.empty() && !closed_
                           ? filled_.wait(guard, std::move(stop), [&] { return closed_ || !items_.empty(); })
                           : !stop.stop_requested();
    if (!woken || items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front().first));
    held_bytes_ -= items_.front().second;
    items_.pop_front();
    guard.unlock();
    room_.notify_all();  // producers wait for different sizes: the one that fits must be among the woken
    return item;
  }

  /// No more items come in; those inside can still be popped. Wakes everybody.
  void close() {
    {
      const std::lock_guard guard(mutex_);
      closed_ = true;
    }
    room_.notify_all();
    filled_.notify_all();
  }

  [[nodiscard]] std::uint64_t held_bytes() const {
    const std::lock_guard guard(mutex_);
    return held_bytes_;
  }
  [[nodiscard]] std::size_t size() const {
    const std::lock_guard guard(mutex_);
    return items_.size();
  }

 private:
  bool fits(std::uint64_t bytes) const {
    return items_.empty() || (held_bytes_ <= capacity_bytes_ && bytes <= capacity_bytes_ - held_bytes_);
  }
  void add(T item, std::uint64_t bytes) {
    items_.emplace_back(std::move(item), bytes);
    held_bytes_ += bytes;
    filled_.notify_one();
  }

  const std::uint64_t capacity_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable_any room_, filled_;
  std::deque<std::pair<T, std::uint64_t>> items_;
  std::uint64_t held_bytes_ = 0;
  bool closed_ = false;
};

}  // namespace headrace
