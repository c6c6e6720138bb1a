// Hands blocks from many threads to one in sequence order, bounded in bytes.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace headrace::demo {

/// Items carry sequence numbers 0, 1, 2, … each pushed once. Bytes in the queue stay at or below the limit, except that
/// the item to come out next always enters: so no thread waits for another one that is waiting too.
template <class T>
class OrderedQueue {
 public:
  explicit OrderedQueue(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  /// Put an item; blocks while the queue is full. False after close(): the item is dropped.
  bool push(std::uint64_t sequence, std::size_t bytes, T item) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return closed_ || sequence == next_ || held_bytes_ + bytes <= limit_bytes_; });
    if (closed_) return false;
    held_bytes_ += bytes;
    items_.emplace(sequence, std::pair(bytes, std::move(item)));
    if (sequence == next_) ready_.notify_one();
    return true;
  }

  /// Take the next item; blocks until the next item in order is there. False after close().
  bool pop(T& item) {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return closed_ || (!items_.empty() && items_.begin()->first == next_); });
    if (closed_) return false;
    auto node = items_.extract(items_.begin());
    held_bytes_ -= node.mapped().first;
    item = std::move(node.mapped().second);
    ++next_;
    room_.notify_all();
    return true;
  }

  /// Let every waiting thread go.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    room_.notify_all();
    ready_.notify_all();
  }

 private:
  const std::size_t limit_bytes_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable ready_;
  std::map<std::uint64_t, std::pair<std::size_t, T>> items_;
  std::size_t held_bytes_ = 0;
  std::uint64_t next_ = 0;
  bool closed_ = false;
};

}  // namespace headrace::demo
