// Engine: the decode threads around one request window.
#pragma once

#include <headrace/batch.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "assembly/ahead/reads_ahead.h"
#include "assembly/copying/row_gather.h"
#include "assembly/kept/decoded_cache.h"
#include "assembly/kept/epoch_blocks.h"
#include "assembly/servers/block_server.h"
#include "assembly/servers/part_server.h"
#include "assembly/window/request_window.h"
#include "base/clock.h"
#include "base/memory/memory_budget.h"
#include "base/stage_clock.h"
#include "base/threads/parallel.h"
#include "delivery/batch_memory.h"
#include "loader/engine/epoch_claims.h"
#include "loader/plan/engine_plan.h"
#include "loader/plan/uncached_blocks.h"
#include "loader/plan/use_schedule.h"

namespace headrace {

/// Rows delivered of one epoch, on this rank.
struct EpochSums {
  std::uint64_t epoch = 0, first_sample = 0;
  std::uint64_t end_sample = 0;  ///< Samples before the next batch.
  RowSums sums;
  bool complete = false;  ///< The epoch ended, and its sums are those of every row once (one rank, from the start).
};

/// Memory of an engine's plan, reserved.
struct EngineMemory {
  std::shared_ptr<MemoryBudget> budget;  ///< Whose it is.
  MemoryReservation slots, index;        ///< EnginePlan::slots of them, and bookkeeping.
  std::vector<MemoryReservation> others;
};

/// Owned by one loader. Threads start with the first epoch. Use from one consumer thread; figures from anywhere.
class Engine {
 public:
  static std::shared_ptr<Engine> make(SampleSource source, EnginePlan plan, ThreadStarter starter = start_thread);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Give it the memory of its plan, and what keeps its blocks. Once, before the first epoch.
  void provide_memory(EngineMemory memory, std::shared_ptr<DecodedCache> decoded_cache);
  [[nodiscard]] bool has_memory() const { return has_memory_; }
  /// Return what it keeps of decoded blocks; null before provide_memory().
  [[nodiscard]] std::shared_ptr<DecodedCache> decoded_cache() const;
  /// Blocks that were looked at to be kept before the first batch, of all; equal when that is over.
  struct Preload {
    std::uint64_t done = 0, all = 0;
  };
  [[nodiscard]] Preload preload() const;
  /// Return true if what was to keep all rows, in a directory or for the processes of a host, could not be opened.
  [[nodiscard]] bool lacks_its_stores() const;
  /// Return true if all rows, or all cells, are in memory, or in a cache directory.
  [[nodiscard]] bool has_all_rows() const;
  /// Decode everything before the first batch, although the plan does not say so. Before the threads start. \return
  /// False if this engine does not keep all of them.
  bool wants_preload();
  [[nodiscard]] bool started() const { return started_; }
  [[nodiscard]] bool stopped() const { return stopped_; }
  /// Start the threads, after reading the side fields that are kept decoded. Where the system starts only some of them,
  /// work goes on with those and a note says so. Errors: kForked, kClosed; kOutOfBudget: there is no memory, or not one
  /// thread; kCancelled: `go_on` said so. A later call tries again.
  /// \param go_on  Called by this thread while it reads, at most about twenty times a second; may be empty.
  Status start_threads(const std::function<bool()>& go_on = {});
  /// Return the number of decode threads that run.
  [[nodiscard]] std::uint32_t num_threads() const { return num_threads_; }
  /// Return the number of decode threads that run in the process, of all loaders.
  [[nodiscard]] static std::uint32_t threads_of_process();

  /// Begin an epoch after `position` of its samples; starts the threads the first time. Errors, `go_on`: as
  /// start_threads().
  Status start_epoch(std::uint64_t epoch, std::uint64_t position, const std::function<bool()>& go_on = {});
  /// Return true once next() will not block.
  bool wait(std::chrono::nanoseconds limit);
  struct Delivery {
    Batch batch;
    std::uint64_t end_sample = 0;  ///< Samples of the epoch, handed out over all ranks when this batch is.
    bool last = false;             ///< No batch of the epoch follows.
  };
  /// Return the next batch of the epoch, nullopt after its last. Errors: of the data; kClosed; kForked; kInternal if an
  /// epoch was not every row once.
  Result<std::optional<Delivery>> next();
  /// Return sums over the rows delivered of the epoch at hand.
  [[nodiscard]] EpochSums sums() const;
  /// Take over what is known of the epoch of an engine that has ended: its sums, and what of it was decoded. Before
  /// this one's first epoch.
  void carry(const Engine& before);
  /// Stop; idempotent. Blocks: until the threads have given up what they are at (milliseconds), kLongestStop at most,
  /// and a cache directory that has just become whole is on the disk. Threads whose reads do not return are left
  /// behind, with all that they use, which a notice says: the last of them gives it back.
  void stop() { stop_within(kLongestStop); }

  /// Return what give() could give.
  [[nodiscard]] std::uint64_t could_give() const;
  /// Give memory of the window to others, `bytes` of it or all but three slots: batches that are ready stay as far as
  /// they fit, others are decoded again. Changes no batch. Threads: any, but for decode threads. Blocks: until claims
  /// have been given up, `limit` at most. \return What was given; what a claim still holds after `limit` follows when
  /// it ends.
  std::uint64_t give(std::uint64_t bytes, std::chrono::nanoseconds limit);
  /// Take back what was given, as far as it is free by now or with loaders that are not iterated. Threads: the
  /// consumer's, where it has to wait for a batch: while it need not, the window will do as it is. Blocks: while those
  /// loaders' threads end (milliseconds).
  void take_back();
  [[nodiscard]] bool has_given() const {
    return has_given_.load(std::memory_order_relaxed) || (kept_blocks_ && kept_blocks_->has_given());
  }
  /// Return the bytes that other loaders have of what the plan gives to the window.
  [[nodiscard]] std::uint64_t lent_bytes() const {
    const std::uint64_t wanted = wanted_slots_;
    return has_given_ ? (wanted - std::min(slots_.load(), wanted)) * slot_and_index_bytes() : 0;
  }
  /// Take rows that a sampler feeds during the epoch.
  void feed(std::span<const std::uint64_t> rows);
  [[nodiscard]] const EnginePlan& plan() const { return plan_; }
  [[nodiscard]] const std::vector<Field>& fields() const { return *fields_; }
  [[nodiscard]] const std::shared_ptr<const std::vector<Field>>& batch_fields() const { return fields_; }
  [[nodiscard]] const StageBoard& stages() const { return board_; }
  struct Decodes {
    std::uint64_t decoded_bytes = 0, needed_bytes = 0, slow_pieces = 0;
  };
  [[nodiscard]] Decodes decodes() const;
  [[nodiscard]] ReadingFigures reading() const { return ahead_.figures(); }
  /// Most that was allocated, as a budget counts it: of all threads together, and of fields kept beside the blocks.
  struct PeakMemory {
    std::uint64_t scratch_bytes = 0, read_buffer_bytes = 0, side_bytes = 0;
  };
  [[nodiscard]] PeakMemory peak_memory() const;
  [[nodiscard]] BatchMemory::Usage slots() const { return memory_ ? memory_->usage() : BatchMemory::Usage{}; }
  [[nodiscard]] std::uint64_t plan_ns() const { return window_.plan_ns(); }
  [[nodiscard]] std::uint64_t slots_planned() const { return window_.slots_planned(); }
  /// Errors: kForked, kClosed.
  [[nodiscard]] Status check_usable() const;
  /// Return true in a process that was forked off after this engine was made.
  [[nodiscard]] bool forked() const;

 private:
  struct DecodeThread;
  struct Loading;
  static constexpr std::chrono::milliseconds kLongestStop{4500};
  Engine(SampleSource source, EnginePlan plan, ThreadStarter starter);
  // engine_threads.cpp
  Result<std::jthread> start_own_thread(std::string name, std::function<void()> body);
  void note_thread_end();
  void stop_within(std::chrono::milliseconds limit);
  void tell_of_stuck_threads(std::uint32_t count) noexcept;
  void clean_up();
  void let_go();
  void load_parts(DecodeThread& decoder, Loading& loading) noexcept;
  Status check_epoch();
  Status load_resident_arrays(const std::function<bool()>& go_on);
  void work(DecodeThread& decoder) noexcept;
  void serve_claim(DecodeThread& decoder);
  void preload_blocks(DecodeThread& decoder);
  void serve_block(DecodeThread& decoder);
  void keep_uncached(DecodeThread& decoder);
  void serve_parts(DecodeThread& decoder);
  void gather_parts(DecodeThread& w);
  void gather_batch(DecodeThread& decoder);
  void finish(DecodeThread& decoder);
  [[nodiscard]] std::uint64_t needed_bytes_of(double samples) const;
  [[nodiscard]] std::function<std::optional<WantedRows>(std::uint32_t)> asked_rows() const;
  void serve_by_block(DecodeThread& decoder, std::span<const SampleRef> samples, std::vector<RowFailure>& failures);
  [[nodiscard]] bool can_gather(const RowStores& rows) const;
  void persist_store();
  // engine_room.cpp
  void make_room();
  void limit_slots(std::uint64_t step);
  void take_slots_back();
  void set_slots(std::uint64_t slots);
  std::uint64_t fit_memory();
  void finish_giving();
  [[nodiscard]] std::uint64_t slot_and_index_bytes() const { return plan_.slot_bytes + plan_.slot_index_bytes; }

  const SampleSource source_;
  const EnginePlan plan_;
  const ThreadStarter start_thread_;
  std::mutex room_mutex_;  // of what follows, once threads run
  std::shared_ptr<MemoryBudget> budget_;
  MemoryReservation slots_memory_, index_memory_;
  std::vector<MemoryReservation> reservations_;  // all else
  std::atomic<std::uint64_t> cache_bytes_{0};    // capacity of a BlockCache, while no window needs it
  std::shared_ptr<BlockCache> kept_blocks_;      // that one
  // In the window and with the consumer: fewer as the cache grows; and fewer still while others need the memory.
  std::atomic<std::uint64_t> wanted_slots_{0}, slots_{0};
  std::atomic<std::uint64_t> slots_bytes_{0};  // reserved for them
  std::atomic<bool> has_given_{false}, gives_late_{false};
  mutable std::mutex cache_mutex_;
  std::shared_ptr<DecodedCache> decoded_cache_;
  std::optional<RowGather> gather_;
  std::unique_ptr<UseSchedule> schedule_;  // of a BlockCache
  EpochClaims claims_;
  EpochBlocks asked_blocks_;                            // of batches that are gathered from what is still being filled
  std::atomic<std::uint64_t> gathered_ahead_bytes_{0};  // needed by batches that were gathered before their epoch began
  std::optional<std::uint64_t> first_epoch_;            // for which resident arrays and preloaded blocks were decoded
  std::atomic<std::uint64_t> resident_bytes_{0};
  // Rows can be gathered from the store; every block that is decoded stays where it need not be decoded again.
  std::atomic<bool> gather_ready_{false}, may_keep_all_{false}, keeps_blocks_{false};
  std::atomic<std::uint64_t> next_preload_{0}, preloaded_{0};
  UncachedBlocks uncached_;
  const int owner_pid_;
  const std::shared_ptr<const std::vector<Field>> fields_;  // of a batch
  const std::shared_ptr<BatchMemory> memory_;
  ReadsAhead ahead_;  // outlives the window, which tells it what it wants
  RequestWindow window_;
  StageBoard board_;
  ResidentArrays resident_;
  SideChunks side_chunks_;
  std::vector<std::unique_ptr<DecodeThread>> decoders_;
  std::vector<std::jthread> threads_;  // that decode
  std::atomic<std::uint32_t> num_threads_{0};
  std::mutex own_threads_mutex_;  // of what follows: all threads that use this engine
  std::condition_variable thread_ended_;
  std::uint32_t alive_ = 0;
  bool left_behind_ = false, cleaned_up_ = false, let_go_ = false;
  std::jthread persister_;  // makes a cache directory last
  std::atomic<bool> preloads_{false}, has_memory_{false}, started_{false}, stopped_{false};
  mutable std::mutex sums_mutex_;
  EpochSums sums_;
  std::uint64_t listed_version_ = 0;  // of the rows that may have been read ahead
  std::optional<RowSums> every_row_;  ///< What a whole epoch adds up to, once it was asked for.
};

}  // namespace headrace
