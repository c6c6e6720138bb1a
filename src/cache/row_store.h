// RowStore: all rows of a data set, decoded, field by field, in mapped memory that other processes may share.
//
// It is filled block by block, by the thread that decodes a block first, and read in place. Row r of field f lies at
// field(f) + r * row bytes, whatever files the rows came from. Behind it are pages of this process (in_memory), memory
// that the processes of a host share (host_arena.h), or a directory of .npy files (cache_directory.h).
#pragma once

#include "catalog/stored_column.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "catalog/block.h"

namespace headrace {

/// What a store holds.
struct RowLayout {
  std::vector<StoredColumn> fields;
  std::vector<std::uint64_t> block_starts;  ///< First row of each block, ascending from 0, and the number of rows.

  [[nodiscard]] std::uint64_t rows() const { return block_starts.empty() ? 0 : block_starts.back(); }
  [[nodiscard]] std::uint64_t num_blocks() const { return block_starts.empty() ? 0 : block_starts.size() - 1; }
  [[nodiscard]] std::uint64_t row_bytes() const;
  /// Return the bytes of all fields' rows.
  [[nodiscard]] std::uint64_t data_bytes() const { return rows() * row_bytes(); }
};

/// Bytes behind the states of memory that a host shares: which process is charged for it.
inline constexpr std::uint64_t kPayerBytes = 64;

/// Threads: all members from any thread at once. Processes: as many as share the memory behind it; one that dies while
/// it fills a block leaves a block that no other waits for.
class RowStore {
 public:
  virtual ~RowStore() = default;
  RowStore(const RowStore&) = delete;
  RowStore& operator=(const RowStore&) = delete;

  /// Make a store in pages of this process, touched as they are filled. Errors: kOutOfBudget.
  static Result<std::shared_ptr<RowStore>> in_memory(RowLayout layout);
  /// Return the bytes of pages that in_memory(), or the processes of a host together, take for so many rows.
  static std::uint64_t pages_for(const RowLayout& layout);

  [[nodiscard]] virtual const RowLayout& layout() const = 0;
  /// Return the row 0 of a field. Rows of blocks that are not ready may hold anything.
  [[nodiscard]] virtual const std::byte* field(std::size_t field) const = 0;
  /// Return whether rows can be read from anywhere, at the speed of memory. Not where the page cache cannot hold the
  /// files: their rows are best read a block at a time, after will_need().
  [[nodiscard]] virtual bool random_access() const { return true; }
  /// Start to fetch rows of a block that are going to be read. `rows`: within the block.
  virtual void will_need(std::uint64_t block, RowRange rows) const { (void)block, (void)rows; }

  enum class Lookup : std::uint8_t {
    kReady,  ///< May be read.
    kFill,   ///< Only the caller fills it: publish() or abandon() must follow.
    kBusy,   ///< Another thread or process is filling it: wait() a little, or decode for oneself.
    kFull,   ///< No room is left for it, and none will come.
  };
  virtual Lookup look_up(std::uint64_t block) = 0;
  [[nodiscard]] virtual bool ready(std::uint64_t block) const = 0;
  /// Return true where look_up() would say kFill now, and take nothing: a thread that asks does not keep others from
  /// the block.
  [[nodiscard]] virtual bool can_fill(std::uint64_t block) const = 0;
  /// Wait until a busy block is not busy any more, its filler is seen to be dead, or `limit` is over. \return ready().
  virtual bool wait(std::uint64_t block, std::chrono::nanoseconds limit) = 0;

  /// Return where the taker of a block may write its rows of a field; null where only put() can.
  [[nodiscard]] virtual std::byte* writable(std::size_t field, std::uint64_t block) = 0;
  /// Write the block's rows, one pointer a field. Errors: kWriteFailed if the disk is full, and whatever else
  /// the system says; the block is to be abandoned then.
  virtual Status put(std::uint64_t block, std::span<const std::byte* const> rows) = 0;
  /// Publish a block whose rows are all in place. \return True for the last block: complete() holds from now on, and
  /// the caller calls finish().
  virtual bool publish(std::uint64_t block) = 0;
  /// Give up a block that its taker could not fill: another thread may.
  virtual void abandon(std::uint64_t block) = 0;

  /// Return true if every block is ready.
  [[nodiscard]] virtual bool complete() const = 0;
  [[nodiscard]] virtual std::uint64_t ready_blocks() const = 0;
  /// Make what is complete last: files on disk get their final names. Nothing to do for memory. Idempotent.
  virtual Status finish() { return {}; }

  /// Compare a ready block with its checksum where it was made by another run; costs nothing the second time.
  /// Errors: kCorruptData, once, naming file, field, block and bytes; the block counts as not ready from then on.
  virtual Status check(std::uint64_t block) = 0;
  /// Return false while some ready block was never checked.
  [[nodiscard]] virtual bool all_checked() const = 0;
  /// Return the memory that this process must pay for: everything for in_memory(), nothing for files (the page cache is
  /// the kernel's).
  [[nodiscard]] virtual std::uint64_t charged_bytes() const = 0;
  /// Be the one that is charged from now on, if the one that was is gone. \return True if that changed charged_bytes().
  virtual bool take_charge() { return false; }
  /// Be charged no longer: another store of the same memory may be.
  virtual void drop_charge() {}

 protected:
  RowStore() = default;
};

}  // namespace headrace
