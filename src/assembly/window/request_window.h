// RequestWindow: the run of batch slots from the oldest batch not yet handed over, and which thread decodes what when.
//
// A sampler says which samples each batch wants, a sample map which parts of which units they are made of; where
// samples are rows, a unit is a block and a part a row. Requests of the batches inside the window are grouped by unit.
// A thread claims a unit, decodes it, and puts the rows of all its requests in their places; when nothing of a slot is
// missing it is ready, or finished first (kernels that need whole samples or a whole batch). Which unit may be claimed:
//   1. a unit that holds a missing part of the oldest batch: always;
//   2. any other unit only when its last request of the epoch lies inside the window (least first need first); where
//      the order has no locality, so that no last request comes in time, a little ahead of need.
// A claim needs nothing but its thread's own scratch, and the slots of the window exist already, so the oldest batch
// always completes: no deadlock at any window, down to one slot. A window shorter than the order's span decodes units
// again; it never changes a batch.
//
// Where all rows are in memory already there is nothing to group: a batch is then one claim, planned and gathered by
// the thread that took it.
//
// Slots enter in order. Their sizes follow from the plan; one that finds no room waits, and so does what comes after
// it.
//
// Where there is no memory for the bookkeeping of a batch, the epoch ends with kOutOfBudget; claim() and complete()
// never throw.
//
// Threads: claim/complete from any number of decode threads; start_epoch, wait_head, next from one consumer; the rest
// from anywhere. Waiting is on state change only.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <span>
#include <vector>

#include "assembly/window/request_list.h"
#include "assembly/window/unit_listener.h"
#include "assembly/window/window_slot.h"
#include "base/result.h"
#include "catalog/block.h"
#include "catalog/samples/sample_map.h"
#include "order/sampler.h"
#include "order/steps/step_plan.h"

namespace headrace {

class RequestWindow {
 public:
  struct Options {
    std::uint64_t max_slots = 1;  ///< Longest window, at least 1.
    bool keep_samples = false;    ///< Deliver with each batch what it holds.
    /// What samples are made of; null: a sample is a row of a block.
    std::shared_ptr<const SampleMap> map = nullptr;
    std::uint64_t span_slots =
        ~std::uint64_t{0};     ///< Slots over which the samples of a unit, or of a shuffle block, are spread.
    std::uint64_t seed = 0;    ///< Keys what the map draws, with the epoch.
    bool padded = false;       ///< Samples of ragged groups are filled up to the longest of their batch.
    Finishing finishing = {};  ///< Claimed like units, once everything of a batch is in place.
    /// What the hash of a row in its place weighs, see row_weight(); 0: rows in place are not checked.
    std::uint64_t row_weight = 0;
    /// Turns true when all rows can be copied from where they lie: from then on claims are whole batches. May be null.
    const std::atomic<bool>* gather_ready = nullptr;
    /// Longest window of whole batches: more would save nothing.
    std::uint64_t direct_window_slots = ~std::uint64_t{0};
    /// True while every decoded block is kept: then any may be decoded ahead of need. May be null.
    const std::atomic<bool>* blocks_are_kept = nullptr;
    /// Set Claim::ahead, which says whether the consumer waits for a claim: costs two clock reads a claim.
    bool tells_ahead = false;
    /// True while there is something to do in spare time: then a thread that finds nothing else, and for which no
    /// consumer waits, gets a claim of Kind::kSpare. Null: never. Needs `tells_ahead`.
    const std::atomic<bool>* has_spare_work = nullptr;
    /// Is told of units before they can be claimed. May be null.
    UnitListener* listener = nullptr;
  };
  RequestWindow(std::shared_ptr<const StepPlan> steps, std::shared_ptr<const BlockTable> blocks, Options options,
                SlotAllocator& allocator);

  // Decode threads.
  /// Wait for a block that may be decoded. \return False once stop() was called.
  bool claim(Claim& out) noexcept;
  /// Complete a claim whose rows are all in place but those of `failures`. \param digests  One for each run of the
  /// claim; empty where rows in place are not checked.
  void complete(Claim& claim, std::span<const RowFailure> failures, std::span<const RowDigest> digests = {}) noexcept;
  /// Return true while the claims handed out are no longer wanted: a decode may be given up between two pieces.
  [[nodiscard]] const std::atomic<bool>& cancel_flag() const { return cancelled_; }

  // The consumer.
  struct Delivered {
    std::uint64_t epoch, batch;
    std::uint32_t rows;
    std::unique_ptr<SlotMemory> memory;
    StepContent content;  ///< `samples` where they were asked for.
    RowSums sums;         ///< Sums of the rows it holds.
  };
  /// Make `epoch` the one that next() delivers, from the first batch after `position` samples. Keeps what is already in
  /// the window if it begins there, and `keep`. Blocks: until claims of dropped slots have been given up
  /// (milliseconds). \param go_on  Asked about twenty times a second by then; may be empty. \return False if it said
  /// no.
  bool start_epoch(std::uint64_t epoch, std::uint64_t position = 0, bool keep = true,
                   const std::function<bool()>& go_on = {});
  /// Wait until next() will not block. \return False after `limit`.
  bool wait_head(std::chrono::nanoseconds limit);
  /// Return the next batch, nullopt at the end of the epoch. Blocks. Errors: of the batch's data; kClosed after stop();
  /// kInternal if what was put in place is not what the plan says.
  Result<std::optional<Delivered>> next();

  /// Wake everybody and hand out nothing more. Idempotent.
  void stop();
  /// Give back the memory of batches that will not be fetched. After stop(), when no thread claims any more.
  void drop_slots();
  /// Let no more than `slots` enter from now on.
  void limit_slots(std::uint64_t slots);
  /// Keep the batches that are ready, from the oldest on, `slots` of them at most but always that one, for which
  /// wait_head() may have said that it is there, and drop all others: they are planned and decoded again. Changes no
  /// batch. Threads: any, but for decode threads. Blocks: until claims of dropped slots have been given up
  /// (milliseconds), `limit` at most. \return False after `limit`: the memory comes back when the last of those claims
  /// ends.
  bool shrink(std::uint64_t slots, std::chrono::nanoseconds limit);
  /// Take over what another window, which nothing works for any more, has claimed of its epoch: it was decoded once.
  void carry_claims(const RequestWindow& before);
  /// Note that the sampler knows more of its samples than before.
  void order_grew();
  /// Note that a slot's memory came back: the window may grow again.
  void memory_released();

  /// Return the rows of a unit of rows that batches have asked for and no thread has claimed, of the epoch that needs
  /// it first, in no order; none: it is not asked for. Threads: any that was not called under the window's lock.
  [[nodiscard]] std::vector<RowRange> asked_rows(std::uint32_t unit) const;

  /// Return the seconds spent making plans, for the report (nanoseconds, total).
  [[nodiscard]] std::uint64_t plan_ns() const { return plan_ns_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t slots_planned() const { return slots_planned_.load(std::memory_order_relaxed); }

 private:
  struct UnitState {
    std::uint32_t unit = 0, version = 0, claims = 0;
    std::uint64_t epoch = 0, asked = 0, expected = 0;
    bool complete = false;                     // all requests there will be, or those of a whole pass, are here
    bool closed = false;                       // no further request of this epoch can come
    std::uint64_t first_need = 0, newest = 0;  // batches that have requests: the oldest and the newest
    RequestList requests;
    std::vector<SlotRun> runs;  // without their ends
  };
  /// How far shuffle blocks and units of one epoch are, where there is a map.
  struct MapProgress {
    std::vector<std::uint32_t> block_left;  // samples of each shuffle block still to be given, here or elsewhere; or:
    static constexpr std::uint32_t kNotCounted = ~std::uint32_t{0}, kDone = kNotCounted - 1;
    std::vector<std::uint32_t> blocks_done;    // of each unit; where samples are drawn: those that are half given
    std::vector<std::uint32_t> blocks_coming;  // of each unit, by the walk; 0 until it was counted
  };
  /// Units of one epoch that were claimed: where slots were dropped since, another claim decodes them again.
  struct Claimed {
    std::vector<bool> units;
    bool again = false;
    void forget() {
      std::fill(units.begin(), units.end(), false);
      again = false;
    }
  };
  struct Need {  // heap entry, stale when the version moved on
    std::uint64_t first_need;
    std::uint32_t state, version;
    friend bool operator>(const Need& a, const Need& b) { return a.first_need > b.first_need; }
  };
  using NeedHeap = std::priority_queue<Need, std::vector<Need>, std::greater<>>;
  using Lock = std::unique_lock<std::mutex>;
  /// Running means, by which to tell whether the consumer will have to wait.
  struct Pace {
    double consumer_ns = 0;      // from one batch to asking for the next
    double unit_ns = 0;          // from a unit's claim to its completion
    double requests_of_run = 0;  // of one unit for one slot
    static void add(double& mean, double latest);
  };
  struct Run {  // one epoch, or what is left of it
    std::uint64_t epoch = 0, position = 0, steps = 0, step = 0;
    [[nodiscard]] bool ended() const { return step == steps; }
  };

  // request_window_entry.cpp
  bool may_enter();
  bool may_plan_ahead() const;
  void plan_ahead(Lock& lock);
  Status plan(const Run& run);
  bool enter_next(Lock& lock, Claim& out);
  bool enter(Lock& lock, Claim& out);
  bool admit(Claim& out, bool whole_batch);
  void plan_content(const Run& run);
  Run run_of(std::uint64_t epoch, std::uint64_t position) const;
  void insert(WindowSlot& slot);
  void file_request(WindowSlot& slot, std::uint32_t unit, Request request);
  void count(UnitState& block, std::uint64_t rows, std::uint32_t state);
  void count_block(std::uint32_t block, std::uint32_t samples, std::uint64_t epoch);
  [[nodiscard]] bool blocks_are_done(std::uint32_t unit, std::uint64_t epoch);
  void open_block(std::uint32_t block, std::uint64_t epoch);
  void close_block(std::uint32_t block, std::uint64_t epoch);
  [[nodiscard]] bool is_ripe(std::uint32_t state) const;
  UnitState& state_of(std::uint32_t unit, std::uint64_t epoch, std::uint64_t sequence);
  void mark_complete(std::uint32_t state);
  void free_state(std::uint32_t state);
  void finish_entering(std::uint64_t epoch);
  void forget_progress(std::uint64_t epoch);

  void end_without_memory(Lock& lock);
  bool try_claim(Lock& lock, Claim& out);
  void note_failures(const Claim& claim, std::span<const RowFailure> failures);
  void finished_task(WindowSlot& slot);
  static void note_finishing_failure(WindowSlot& slot, const RowFailure& failure);
  void slot_filled(WindowSlot& slot);
  bool pick(Claim& out);
  static std::optional<std::uint64_t> ahead_slots(const StepPlan& steps, const Options& options);
  bool pick_finishing(Claim& out);
  bool pick_spare(Claim& out);
  void take(std::uint32_t state, Claim& out);
  bool valid(const Need& need) const;
  bool wait_head(Lock& lock, std::chrono::nanoseconds limit);
  bool wait_quiet(Lock& lock, const std::function<bool()>& go_on, const std::function<bool()>& is_quiet);
  bool head_ready() const { return is_ready(head_); }
  bool is_ready(std::uint64_t sequence) const;
  bool is_ahead() const;
  void offer_room();
  // request_window_drop.cpp
  void begin_drop(std::uint64_t kept_end);
  void drop_if_quiet() noexcept;
  void finish_drop() noexcept;
  WindowSlot& slot(std::uint64_t sequence) { return *ring_[sequence % ring_.size()]; }
  [[nodiscard]] std::uint64_t longest() const {
    return std::min<std::uint64_t>(ring_.size(), most_slots_.load(std::memory_order_relaxed));
  }
  const WindowSlot& slot(std::uint64_t sequence) const { return *ring_[sequence % ring_.size()]; }

  const std::shared_ptr<const StepPlan> steps_;
  const std::shared_ptr<const BlockTable> blocks_;
  const Options options_;
  const SampleMap::BlockUnits blocks_known_;        // what is known of the units that shuffle blocks ask for
  const std::optional<std::uint64_t> ahead_slots_;  // that units may be decoded ahead of need
  const bool keeps_samples_;                        // of a slot that is filled by blocks, after its requests were filed
  const RequestList::ItemBits item_bits_;
  SlotAllocator& allocator_;

  mutable std::mutex mutex_;
  std::condition_variable work_, ready_, quiet_;
  std::vector<std::unique_ptr<WindowSlot>> ring_;
  std::uint64_t head_ = 0, end_ = 0;    // sequence numbers of the window
  std::uint64_t kept_end_ = 0;          // while slots are dropped: the first of them
  Run head_run_, enter_run_;            // what slot head_ is or will be, and what slot end_ will be
  std::unique_ptr<StepCursor> cursor_;  // of enter_run_, once begun; belongs to the thread that plans
  std::uint64_t enter_position_ = 0;    // samples of the epoch before the step that enters next
  std::uint64_t consumer_epoch_ = 0;
  bool whole_batches_ = false;  // of enter_run_
  Pace pace_;
  std::uint64_t delivered_ns_ = 0;  // the consumer's own
  bool started_ = false, stopped_ = false, planning_ = false, dropping_ = false, restarting_ = false,
       consumer_waits_ = false;
  std::uint32_t active_claims_ = 0, idle_threads_ = 0;
  std::uint64_t offers_ = 0;  // slots that became free since a thread was woken for them
  std::optional<Error> fatal_;
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> short_of_memory_{false};  // the window would grow if a slot came back
  std::uint64_t releases_ = 0;                // how often one did
  std::atomic<std::uint64_t> most_slots_{~std::uint64_t{0}};
  std::atomic<std::uint64_t> plan_ns_{0}, slots_planned_{0};

  std::vector<UnitState> states_;
  std::vector<std::uint32_t> free_states_;
  std::vector<std::uint32_t> state_of_unit_[2];  // by epoch parity; 0: none, else index + 1
  MapProgress progress_[2];                      // by epoch parity
  Claimed claimed_[2];                           // by epoch parity
  std::vector<std::uint32_t> asking_, units_;    // scratch
  NeedHeap needed_, complete_;
  std::vector<std::uint64_t> finishing_;   // slots with finishing tasks to claim, oldest first
  StepContent planned_;                    // the planner's own; of slot end_ once it is planned
  bool has_planned_ = false;               // it waits for room
  std::vector<std::uint64_t> first_rows_;  // stored row with which each block begins, where rows are checked
};

}  // namespace headrace
