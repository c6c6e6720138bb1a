// DecodePool: threads that decode pieces and keep only what went wrong. Memory is bounded whatever the files declare.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/memory/memory_budget.h"
#include "format/format_reader.h"

namespace headrace {

/// A piece of an array to decode.
struct DecodeTask {
  std::shared_ptr<const ArrayReader> array;
  Piece piece;
  std::uint64_t number = 0;  ///< Order of the findings, whichever thread made them.
};

/// A piece that cannot be read or decoded.
struct BadPiece {
  std::uint64_t number = 0;
  RowRange rows;
  Error error;
};

class DecodePool {
 public:
  struct Counts {
    std::uint64_t pieces = 0, stored_bytes = 0, decoded_bytes = 0;
  };

  /// Start threads. Buffers are charged to the process's budget: half of what is free is shared by the threads; a piece
  /// larger than a thread's share is decoded alone, in the other half, and one that does not fit there is refused with
  /// kOutOfBudget. Where the system starts fewer threads, it works with those; throws kOutOfBudget where it starts
  /// none.
  explicit DecodePool(std::uint32_t threads);
  ~DecodePool();  ///< Drops what is queued and joins.

  /// Queue a task. \return False if the queue stayed full for `tick`: try again.
  bool offer(const DecodeTask& task, std::chrono::milliseconds tick);
  /// Wait until everything queued is done. \return False after `tick`.
  bool idle(std::chrono::milliseconds tick);
  [[nodiscard]] Counts counts() const;
  /// Return the findings so far, by task number. Throws kOutOfBudget where there was no memory to keep one.
  [[nodiscard]] std::vector<BadPiece> bad() const;

 private:
  struct Buffers {
    std::unique_ptr<std::byte[]> bytes;
    std::uint64_t size = 0;
    MemoryReservation charge;
  };
  void work() noexcept;
  void note(const DecodeTask& task, Error error);
  Status decode(const DecodeTask& task, Buffers& own);
  Status decode_into(const DecodeTask& task, const ScratchNeed& need, Buffers& buffers);

  const std::shared_ptr<MemoryBudget> budget_ = MemoryBudget::process();
  const std::uint64_t share_bytes_;
  const std::size_t queue_limit_;
  mutable std::mutex mutex_;
  std::condition_variable work_ready_, room_, done_;
  std::deque<DecodeTask> queue_;
  std::uint64_t unfinished_ = 0;
  bool stop_ = false;
  Counts counts_;
  std::vector<BadPiece> bad_;
  bool lost_finding_ = false;
  std::mutex large_;  // held while a piece larger than a thread's share is decoded
  std::vector<std::jthread> threads_;
};

}  // namespace headrace
