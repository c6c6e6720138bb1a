// BlockCache: decoded blocks that are kept because they will be used again, for data that does not fit in memory whole.
//
// What is kept follows the plan, where the order says when each block is used next. A block that this rank uses in an
// earlier epoch takes the place of one that it uses in a later one, or not at all. Blocks whose next uses lie in the
// same epoch are not exchanged: whichever is here at the epoch's border is worth one decode, so that Belady's rule
// saves no more than leaving them alone, and costs the copying (the test over random epochs shows it; the most recently
// used would save nothing: they go just before their turn). Blocks may be kept re-encoded (block_coder.h).
//
// The cache takes what memory is left over, and gives it back when windows need it (Reclaimable).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/memory/memory_budget.h"
#include "base/memory/page_buffer.h"
#include "base/memory/page_slabs.h"
#include "cache/blocks/block_coder.h"
#include "cache/blocks/block_form.h"

namespace headrace {

/// A kept block. Each holder pins it: its memory stays, and stays charged, until the last holder lets go.
struct KeptBlock {
  std::uint64_t block = 0, rows = 0;  ///< Which block it is.
  PageBuffer data;
  BlockCoding coding = BlockCoding::kRaw;
  CodedBlock coded;  ///< Pieces of an encoded one.
};

/// Threads: any. Blocks: look_up() while another thread decodes the same block, which waits for no other.
class BlockCache final : public Reclaimable {
 public:
  struct Options {
    BlockForm form;
    std::uint64_t capacity_bytes = 0;
    BlockCoding coding = BlockCoding::kRaw;
    double coded_share = 1;         ///< Encoded over decoded bytes, as far as is known.
    std::uint64_t epoch_ticks = 1;  ///< Divides next uses: those in the same epoch have the same quotient.
  };
  /// \param budget  What is kept is charged to it.
  BlockCache(std::shared_ptr<MemoryBudget> budget, Options options);

  enum class Lookup : std::uint8_t {
    kHit,   ///< Here it is.
    kFill,  ///< Decode it, then put() or abandon().
    kPass,  ///< Decode it; it will not be kept.
  };
  /// \param next_use  After this one, in ticks; all alike where the order does not say. \param may_fill  Else a block
  /// that is not here is kPass.
  Lookup look_up(std::uint32_t block, std::uint64_t rows, std::uint64_t next_use, bool may_fill,
                 std::shared_ptr<const KeptBlock>& out);
  /// Return the block if it is here and has bytes; waits for no other thread, and changes nothing of its next use. Null
  /// is no miss yet: look_up() follows.
  [[nodiscard]] std::shared_ptr<const KeptBlock> find(std::uint32_t block);
  /// Put what look_up() said kFill for, decoded. \param block_bytes  As BlockForm has it. \param spare  Of
  /// most_coded_bytes(), to encode into. A block of no rows takes no memory: there is nothing to be kept of it.
  void put(std::uint32_t block, std::uint64_t rows, std::uint64_t next_use, const std::byte* block_bytes,
           std::span<std::byte> spare);
  void abandon(std::uint32_t block);

  [[nodiscard]] std::uint64_t reclaimable_bytes() const override;
  std::uint64_t reclaim(std::uint64_t bytes) override;
  /// Keep up to so much from now on.
  void set_capacity(std::uint64_t bytes);
  [[nodiscard]] std::uint64_t capacity_bytes() const;
  /// Return true once memory went to others that take_back() has not had again.
  [[nodiscard]] bool has_given() const { return has_given_.load(std::memory_order_relaxed); }
  /// Keep up to `bytes` again, as far as there is memory for it.
  void take_back(std::uint64_t bytes);
  /// Say whether more capacity will come: until then a block that finds no room is not refused for good.
  void set_growing(bool growing) { growing_.store(growing, std::memory_order_relaxed); }
  /// Return true if there is hardly room for another `blocks` blocks of `rows`.
  [[nodiscard]] bool is_short_of_room(std::uint64_t blocks, std::uint64_t rows) const;
  /// Keep nothing any more.
  void close();

  struct Usage {
    std::uint64_t hits = 0, misses = 0, evictions = 0;
    std::uint64_t refused = 0;  ///< Misses that found no room.
    std::uint64_t blocks = 0, bytes = 0, peak_bytes = 0, capacity_bytes = 0;
    BlockCoding coding = BlockCoding::kRaw;
    double coded_share = 1;  ///< Encoded over decoded bytes, of the encoding in use.
  };
  [[nodiscard]] Usage usage() const;
  /// As Usage::refused.
  [[nodiscard]] std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }
  /// Return true if the block is kept, or a thread is about to put it here.
  [[nodiscard]] bool contains(std::uint32_t block) const;
  /// Return how many blocks are kept.
  [[nodiscard]] std::uint64_t num_blocks() const;
  [[nodiscard]] BlockCoding coding() const { return options_.coding; }

 private:
  struct Entry {
    std::shared_ptr<const KeptBlock> kept;  // null while a thread decodes it
    std::uint64_t next_use = 0;
  };
  using ByUse = std::set<std::pair<std::uint64_t, std::uint32_t>>;
  /// Return whether a block is used so much earlier than the one used last that it takes its place.
  [[nodiscard]] bool beats_last(std::uint64_t next_use) const {
    return !by_use_.empty() && next_use / options_.epoch_ticks < by_use_.rbegin()->first / options_.epoch_ticks;
  }
  [[nodiscard]] std::uint64_t expected_bytes(std::uint64_t rows) const;
  [[nodiscard]] bool admits(std::uint64_t rows, std::uint64_t next_use) const;
  void evict_last();
  void keep_to_bytes();

  const std::shared_ptr<MemoryBudget> budget_;
  const std::shared_ptr<PageSlabs> slabs_ = PageSlabs::create();
  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable filled_;
  std::unordered_map<std::uint32_t, Entry> entries_;
  ByUse by_use_;  // ready ones
  std::uint64_t capacity_bytes_;
  std::uint64_t bytes_ = 0;
  bool closed_ = false;
  double coded_share_;
  void refuse();
  std::atomic<bool> growing_{false}, has_given_{false};
  std::atomic<std::uint64_t> refused_{0};
  Usage usage_;
};

}  // namespace headrace
