// DecodedCache: where decoded blocks stay after they were scattered: nowhere, all of them in RowStores, or as many as
// fit in a BlockCache.
#pragma once

#include <headrace/error.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "assembly/kept/damaged_rows.h"
#include "assembly/kept/keep_policy.h"
#include "base/memory/memory_budget.h"
#include "base/notices.h"
#include "cache/blocks/block_cache.h"
#include "cache/row_stores.h"

namespace headrace {

/// What is kept decoded for later epochs: at most one of `rows` and `blocks`, set before threads start. Threads: all
/// other members from any.
class DecodedCache {
 public:
  /// \param keep_share  As KeepPolicy has it.
  explicit DecodedCache(double keep_share = KeepPolicy::kShare) : policy(keep_share) {}

  std::shared_ptr<RowStores> rows;
  std::shared_ptr<BlockCache> blocks;
  std::shared_ptr<Notices> notices = std::make_shared<Notices>();
  MemoryReservation reservation;  ///< Bytes reserved for `rows`, where it is memory.
  DamagedRows damaged;            ///< What `rows` has not of its blocks.
  bool is_private = false;        ///< `rows` is memory of this process alone, whose blocks may have damaged rows.

  [[nodiscard]] bool keeps() const { return rows != nullptr || blocks != nullptr; }
  /// Return true if the block is kept, or on its way there.
  [[nodiscard]] bool has(std::uint32_t block) const {
    return rows ? rows->ready(block) : blocks && blocks->contains(block);
  }
  /// Look a unit of `rows` up, and wait for the thread or process that fills it, up to `patience`. One that takes
  /// longer is not waited for again: a process that was stopped would cost every batch as much.
  RowStore::Lookup look_up(std::size_t group, std::uint64_t block);
  std::chrono::nanoseconds patience = std::chrono::seconds(2);  ///< Then a unit is decoded here as well.
  /// Return false once keeping went wrong: batches are still delivered.
  [[nodiscard]] bool fills() const { return !disabled_.load(std::memory_order_relaxed); }
  /// Tell the user of something that went wrong.
  void notice(const std::string& text) const { notices->add(Notices::Of::kRun, text); }
  /// Stop filling, and say why, once. Nothing is lost but time.
  void disable(const std::string& why);
  /// What an error of a cache means for a loader, which has the rows from the files.
  static constexpr std::string_view kGoesOn = "Loading goes on without the cache.";
  /// Return an error, and what it means for the cache, in whole sentences.
  static std::string text_of(const Error& error, std::string_view consequence);
  /// Return such a text without kGoesOn: where the cache is all that was asked for, nothing goes on.
  static std::string reason_of(std::string text);

  /// Charge `reservation` for memory of `rows` that processes share, if the process that paid for it is gone. Where the
  /// budget has no room for it, another process may.
  void settle_charge();
  /// Give the memory back; the figures stay. No thread may be serving any more, but for those that leave_to_threads()
  /// told of: then it comes back when these have ended.
  void release_memory();
  /// Note that threads of an engine, which are stuck in a read, may use this when that returns: until threads_ended().
  void leave_to_threads();
  void threads_ended();
  /// How things stand, or stood when the memory was released.
  struct Last {
    BlockCache::Usage usage;
    std::uint64_t ready_units = 0, all_units = 0;  ///< What `rows` has.
    bool of_rows = false, of_blocks = false, complete = false;
  };
  [[nodiscard]] Last last() const;

  /// Call this when the last block of one of `rows` was filled, by a thread of this process.
  void set_complete_callback(std::function<void()> callback);
  void notify_complete();

  struct Counters {
    std::atomic<std::uint64_t> hits{0}, fills{0};
  };
  KeepPolicy policy;  ///< Which blocks are kept, of those that could be.
  Counters counters;  ///< Blocks served from `rows`, and filled there.

 private:
  std::atomic<bool> disabled_{false};
  mutable std::mutex mutex_;
  int engines_with_stuck_threads_ = 0;
  bool is_released_ = false;
  std::set<std::pair<std::size_t, std::uint64_t>> stuck_;  // group and block
  Last last_;
  std::function<void()> on_complete_;
};

}  // namespace headrace
