// UncachedBlocks: decoded blocks that are still to be cached, when there is time.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace headrace {

/// Each block is listed once, however many epochs did not keep it. Threads: any.
class UncachedBlocks {
 public:
  /// \param blocks  Of the data set.
  explicit UncachedBlocks(std::uint64_t blocks) : blocks_(blocks) {}

  /// List a block that was decoded and not kept; one that is listed already stays so. Memory for the list is taken with
  /// the first call. \param block  Below the number given to the constructor.
  void add(std::uint32_t block) {
    const std::lock_guard lock(mutex_);
    if (is_listed_.empty()) is_listed_.resize(blocks_);
    if (is_listed_[block]) return;
    is_listed_[block] = true;
    listed_.push_back(block);
    any_.store(true, std::memory_order_relaxed);
  }

  /// Take a block off the list, the last one first. \return Nullopt if none is listed.
  std::optional<std::uint32_t> take() {
    const std::lock_guard lock(mutex_);
    if (listed_.empty()) return std::nullopt;
    const std::uint32_t block = listed_.back();
    listed_.pop_back();
    is_listed_[block] = false;
    any_.store(!listed_.empty(), std::memory_order_relaxed);
    return block;
  }

  /// Return true while blocks are listed; for looking at without a lock.
  [[nodiscard]] const std::atomic<bool>& any() const { return any_; }

 private:
  const std::uint64_t blocks_;
  std::mutex mutex_;
  std::vector<std::uint32_t> listed_;
  std::vector<bool> is_listed_;  // of each block, once there is one
  std::atomic<bool> any_ = false;
};

}  // namespace headrace
