// EngineManager: the engine of one loader, from its first plan until the loader is closed.
//
//   planned --reserve memory--> reserved --start an epoch--> running <--> idle --close--> closed
//
// Whatever a plan followed from may change while the loader lives: the rank, the length of a list of rows, what is
// known of the data, the memory. replan() is the one way from there to another engine. Reports and batches that are
// under way go on with the engine they began with; figures add up over all engines.
#pragma once

#include <headrace/loader.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/memory/memory_budget.h"
#include "base/notices.h"
#include "dataset/facts/data_identity.h"
#include "dataset/facts/label.h"
#include "loader/engine/busy_lock.h"
#include "loader/engine/consumer_gate.h"
#include "loader/engine/engine.h"
#include "loader/plan/coding_probe.h"
#include "loader/plan/keeping.h"
#include "loader/position.h"

namespace headrace {

/// What the engines of a loader did together.
struct EngineTotals {
  StageTable stages{};
  Engine::Decodes decodes;
  ReadingFigures reading;
  std::uint64_t plan_ns = 0, slots_planned = 0;
  std::uint64_t peak_slot_bytes = 0, peak_held_over_bytes = 0;
  Engine::PeakMemory peak;  ///< Peak of the engine that had most, part by part.
  void add(const Engine& engine);
};

/// Threads: engine(), state(), totals() and the accessors from any; what changes something from the loader's one
/// thread, while it holds Busy.
class EngineManager final {
 public:
  enum class State : std::uint8_t {
    kPlanned,   ///< Every setting is resolved; no memory is held but what is kept of decoded blocks.
    kReserved,  ///< The plan's memory is reserved.
    kRunning,   ///< Threads run, and a consumer may ask for batches.
    kIdle,      ///< Threads run, and no consumer will ask for batches of this epoch: the memory may go to others.
    kClosed,    ///< The end.
  };
  /// Why an engine was planned.
  enum class Reason : std::uint8_t {
    kFirst,         ///< The loader was made.
    kRank,          ///< Another rank, or another number of ranks.
    kRows,          ///< The list of rows has another length.
    kShape,         ///< A state brought another shape of the block shuffle.
    kWeights,       ///< Batches are to have the field "_weight".
    kPreload,       ///< Everything is to be decoded beforehand.
    kCodingKnown,   ///< It was measured what re-encoding makes of the blocks.
    kCacheRefused,  ///< Blocks did not fit encoded, against what was measured.
    kCacheDamaged,  ///< Blocks of a cache directory are damaged.
    kMemoryTaken,   ///< Others hold memory that this loader counted on.
    kOverLimit,     ///< The process holds more than it may by now, and this loader keeps rows.
    kMemoryGiven,   ///< This loader gave its memory to others.
    kMemoryFree,    ///< There is more memory than the plan was made with, and it is short of it.
  };

  /// Resolve every automatic setting; reserve nothing and start nothing. Errors, `go_on`: as Loader's constructor.
  static Result<std::shared_ptr<EngineManager>> make(Dataset dataset, LoaderOptions options,
                                                     const std::function<bool()>& go_on = {});
  EngineManager(Dataset dataset, LoaderOptions options);

  [[nodiscard]] std::shared_ptr<Engine> engine() const;
  [[nodiscard]] State state() const;
  /// Return why the engine at hand was planned.
  [[nodiscard]] Reason reason() const { return reason_; }
  [[nodiscard]] EngineTotals totals() const;
  /// Return the other loaders that hold memory, and how much; empty: none does.
  [[nodiscard]] std::string other_holders() const;
  /// Return how often all memory was given to other loaders in the middle of an epoch.
  [[nodiscard]] std::uint64_t pauses() const { return pauses_; }
  /// Return a number that changes when epochs that are under way cannot go on with the engine at hand: the rank, the
  /// rows or the shape of the order are others.
  [[nodiscard]] std::uint64_t order() const { return order_; }
  [[nodiscard]] const Dataset& dataset() const { return dataset_; }
  [[nodiscard]] const LoaderOptions& options() const { return options_; }
  /// Return the label of a sampler that needs one; null: none does. It stays as it is.
  [[nodiscard]] const Label* label() const { return label_ ? &*label_ : nullptr; }
  /// Return what stands for the data in a state. The first call reads samples of the files.
  [[nodiscard]] const DataIdentity& identity() const;
  /// Return what the user should know, of this engine and those before. Never null.
  [[nodiscard]] const std::shared_ptr<Notices>& notices() const { return notices_; }
  /// Return true once it was measured what re-encoding makes of the blocks, or there was nothing to measure.
  [[nodiscard]] bool probed() const { return probed_; }

  /// Return the most that this loader ever had of its budget at once.
  [[nodiscard]] std::uint64_t peak_reserved_bytes() const { return budget_->snapshot().peak_bytes; }

  class Busy;
  /// Make the engine what the next epoch needs: planned for what holds now, and with its memory. Errors: kClosed; of
  /// the plan; kOutOfBudget.
  Status prepare();
  /// Replan if the rank has changed and no epoch is running. Errors: of the plan.
  Status follow_rank();
  /// As prepare(), with an engine that decodes everything before the first batch, if the plan keeps everything.
  /// \return True if an epoch that was under way has ended.
  Result<bool> prepare_preload();
  /// Set what the consumer holds while it may ask for batches, unless it says that it has all of them.
  void set_consumer(std::weak_ptr<void> consumer);
  /// Return what the consumer enters for a batch: the engine is not taken from it then.
  [[nodiscard]] ConsumerGate& gate() { return gate_; }
  /// Say whether the consumer was given the last batch of its epoch: it is idle from then on, whatever it holds.
  void set_done(bool done) { done_ = done; }
  /// Set other rows for an epoch, where the sampler is a list. Errors: kInvalidArgument; the engine is then as it was.
  Status set_rows(std::uint64_t epoch, const ListedRows::List& list);
  /// Set the rank that a framework knows. Takes effect with prepare().
  void set_framework_rank(RankShare share) { framework_rank_ = share; }
  /// Go on with a state's shuffle, and with the lanes of its steps; nullopt and 0: as they are. Errors: of the plan;
  /// the engine is then as it was.
  Status go_on_as(const std::optional<ShuffleOrder>& shuffle, std::uint32_t lanes);
  /// Keep the number of lanes, whatever the number of ranks will be.
  void keep_lanes(std::uint32_t lanes) { lanes_ = lanes; }
  /// Deliver the field "_weight" from now on. Errors: of the plan; the engine is then as it was.
  Status deliver_weights();
  /// End the engine, and give up what is kept. Threads: any. Blocks: until the call ends that another thread is in.
  /// Where that thread, or this one, is in a function of the program that the call called, the call closes it when it
  /// ends.
  void close();
  /// Return true once close() was called.
  [[nodiscard]] bool closed() const { return close_asked_; }
  /// Call `work(go_on)`, which reads until it is done or go_on() says no, with Busy. That is so once the loader is to
  /// be closed, or `asked`, a function of the program, says no; it may be empty. Errors: those of `work`; kClosed.
  Status read(const std::function<bool()>& asked, const std::function<Status(const std::function<bool()>&)>& work);

 private:
  static constexpr ReclaimRanks kIdle{ReclaimRank::kIdle, ReclaimRank::kIdle};
  static constexpr ReclaimRanks kAtRest{ReclaimRank::kIdle, ReclaimRank::kKept};
  /// What a loader could give, as something of a rank to ask for memory.
  struct Holder final : Reclaimable {
    EngineManager& manager;
    const ReclaimRank rank;
    Holder(EngineManager& of, ReclaimRank as) : manager(of), rank(as) {}
    [[nodiscard]] std::uint64_t reclaimable_bytes() const override { return manager.could_give(rank); }
    std::uint64_t reclaim(std::uint64_t bytes) override { return manager.give(rank, bytes); }
  };
  [[nodiscard]] std::uint64_t could_give(ReclaimRank rank) const;
  std::uint64_t give(ReclaimRank rank, std::uint64_t bytes);
  [[nodiscard]] std::uint64_t kept_rows_bytes() const;
  [[nodiscard]] std::uint64_t needed_bytes() const;
  std::uint64_t wait_to_pause(std::uint64_t bytes);
  [[nodiscard]] std::uint64_t bytes_beside_cache() const;
  [[nodiscard]] bool can_pause() const;
  std::uint64_t pause(std::uint64_t bytes);
  std::uint64_t stop_engine(bool drops_cache);
  Result<EnginePlan> make_plan();
  Result<EnginePlan> plan_beside_others(const std::function<Result<EnginePlan>(MemoryRoom)>& resolve) const;
  [[nodiscard]] MemoryRoom room_beside_others(std::initializer_list<ReclaimRanks> ranks) const;
  Result<RankChoice> choose_own_rank() const;
  void look_for_cache(PlanContext& context);
  /// Plan for what holds now, and put an engine of that plan in the place of the one at hand. Errors leave that one as
  /// it was, except for kOverLimit, where it has to end first.
  Status replan(Reason reason);
  Result<std::optional<Reason>> find_reason();
  Status provide_memory();
  Status reserve(ReclaimRank last);
  bool measure_codings();
  void drop_cache();
  void end();
  [[nodiscard]] bool is(State now) const;

  const pid_t owner_pid_ = ::getpid();
  const Dataset dataset_;
  const LoaderOptions options_;
  const std::shared_ptr<Notices> notices_ = std::make_shared<Notices>();
  const std::string data_hash_;  ///< Hash of what rows there are; what is kept of them is known by it.
  mutable std::once_flag identified_;
  mutable DataIdentity identity_;
  std::shared_ptr<ListedRows> listed_;  ///< Rows of a sampler that is a list.
  const std::shared_ptr<MemoryBudget> budget_;
  bool delivers_weights_ = false;        ///< Whatever follows from the options.
  std::optional<ShuffleOrder> shuffle_;  ///< Shuffle of a state that was loaded; as if it had been given.
  std::uint32_t lanes_ = 0;              ///< Lanes of the steps of a state that was loaded; 0: none was.
  std::optional<RankShare> framework_rank_;
  std::optional<Label> label_;                   ///< Label for a sampler that needs one.
  std::shared_ptr<const TokenLengths> lengths_;  ///< Lengths of samples, of a loader with a token budget.
  std::shared_ptr<const GroupTable> groups_;     ///< Groups of a loader of groups.
  std::shared_ptr<DecodedCache> cache_;  ///< What engines of this loader keep; outlives them where the plan allows.
  CacheTier cache_tier_ = CacheTier::kNothing;
  std::string cache_identity_;
  CompleteCache whole_cache_;         ///< The one that was found in the directory, for all engines.
  std::optional<CodingProbe> probe_;  ///< What re-encoding would make of the blocks, once it was tried.
  std::atomic<bool> probed_{false}, close_asked_{false}, closed_{false}, done_{false};
  std::atomic<Reason> reason_{Reason::kFirst};
  std::atomic<std::uint64_t> order_{0}, pauses_{0};

  mutable BusyLock busy_;
  mutable std::mutex engine_mutex_;
  std::shared_ptr<Engine> engine_;
  std::weak_ptr<void> consumer_;
  std::weak_ptr<const BlockCache> kept_blocks_;  // of `cache_`
  ConsumerGate gate_;
  std::array<Holder, 4> holders_{Holder{*this, ReclaimRank::kIdle}, Holder{*this, ReclaimRank::kKept},
                                 Holder{*this, ReclaimRank::kRunning}, Holder{*this, ReclaimRank::kPaused}};
  EngineTotals ended_;  ///< Totals of engines that were replaced.
};

/// Return "the rank changed", … for explain(); empty for the first plan.
std::string_view to_string(EngineManager::Reason reason);

/// Held while a loader starts an epoch or changes its engine: it is not idle then. Throws kInvalidArgument in a
/// function of the program that is called by the thread that holds it.
class EngineManager::Busy {
 public:
  explicit Busy(EngineManager& manager);
  ~Busy() {
    if (manager_.close_asked_) manager_.end();
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  EngineManager& manager_;
  std::unique_lock<BusyLock> lock_;
};

}  // namespace headrace
