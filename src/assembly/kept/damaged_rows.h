// DamagedRows: rows of blocks that are kept although some of their chunks could not be decoded.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "catalog/block.h"

namespace headrace {

/// A block with one damaged chunk would else be decoded again for each batch that needs its other rows; the damaged
/// ones are read again whenever they are wanted, and may be sound then. Threads: any.
class DamagedRows {
 public:
  /// Note what of a block could not be decoded, before the block may be read. \param group  Which store has the block.
  void add(std::size_t group, std::uint64_t block, std::vector<RowRange> rows) {
    const std::lock_guard lock(mutex_);
    blocks_[key(group, block)] = std::move(rows);
    any_.store(true, std::memory_order_release);
  }
  /// Return true if any block has such rows.
  [[nodiscard]] bool any() const { return any_.load(std::memory_order_acquire); }
  /// Return which rows of a block could not be decoded; null: none. It stays where it is.
  [[nodiscard]] const std::vector<RowRange>* of(std::size_t group, std::uint64_t block) const {
    if (!any()) return nullptr;
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(key(group, block));
    return found == blocks_.end() ? nullptr : &found->second;
  }

 private:
  static std::uint64_t key(std::size_t group, std::uint64_t block) { return (std::uint64_t{group} << 40) | block; }
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::vector<RowRange>> blocks_;
  std::atomic<bool> any_{false};
};

}  // namespace headrace
