// What is behind a Loader handle.
#pragma once

#include <headrace/loader/loader.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/memory_budget.h"
#include "loader/coding_probe.h"
#include "loader/engine.h"
#include "loader/position.h"

namespace headrace {

/// The consumer's side of the books. Writer: the consumer's thread; readers: any.
struct ConsumerState {
  using Counter = std::atomic<std::uint64_t>;
  Counter generation{0};  ///< Of the newest Epoch; older ones have ended.
  Counter epochs_started{0}, epochs_finished{0}, batches{0}, samples{0};
  Counter wait_ns{0}, work_ns{0};
  Counter epoch{0}, samples_before{0};  ///< Where the live epoch is: samples handed out of it over all ranks.
  std::atomic<bool> in_epoch{false};    ///< Is there an epoch that has not ended?
  Position next;                        ///< Where the next epoch() begins.
  bool rewound = false;                 ///< The live epoch was sent to `next`, and has given nothing since.
  Counter first_start_ns{0}, epoch_start_ns{0}, first_batch_ns{0}, last_batch_ns{0};
  std::uint64_t working_since_ns = 0;  ///< 0: the consumer is not between two batches of an epoch.

  /// The consumer came back, at `now`. `counts`: what it did since the last batch was work on it.
  void stop_work(std::uint64_t now, bool counts) {
    if (working_since_ns != 0 && counts) work_ns += now - working_since_ns;
    working_since_ns = 0;
  }
  void add_batch(std::uint64_t rows, std::uint64_t now) {
    if (batches == 0) first_batch_ns = now - first_start_ns;
    ++batches;
    samples += rows;
    last_batch_ns = now;
    working_since_ns = now;
  }
  void begin(Position at) {
    epoch = at.epoch;
    samples_before = at.samples;
    next = {at.epoch + 1, 0};
    in_epoch = true;
    rewound = false;
  }
  /// The live epoch goes on at `at`, and so would a new one.
  void rewind(Position at) {
    begin(at);
    next = at;
    rewound = true;
  }
  void handed_out(std::uint64_t end) {
    samples_before = end;
    if (rewound) next = {epoch + 1, 0};
    rewound = false;
  }
};

/// The engine of a loader, which is remade when the rank or the rows change: report() and explain() may be asked from
/// other threads meanwhile, and hold the one they began with.
class EngineSlot {
 public:
  [[nodiscard]] std::shared_ptr<Engine> get() const {
    const std::lock_guard lock(mutex_);
    return engine_;
  }
  std::shared_ptr<Engine> operator->() const { return get(); }
  EngineSlot& operator=(std::shared_ptr<Engine> engine) {
    const std::lock_guard lock(mutex_);
    engine_.swap(engine);
    return *this;
  }
  explicit operator bool() const { return get() != nullptr; }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<Engine> engine_;
};

/// A loader as others see it that need memory: one that nobody iterates can do without its window and what it keeps.
class IdleLoader final : public Reclaimable {
 public:
  explicit IdleLoader(Loader::Impl& loader) : loader_(&loader) {}
  /// The loader is gone.
  void detach();
  [[nodiscard]] std::uint64_t reclaimable_bytes() const override;
  std::uint64_t reclaim(std::uint64_t bytes) override;
  /// Says that the calling thread, which holds the mutex, is at work on the loader.
  class Owner {
   public:
    explicit Owner(std::atomic<std::thread::id>& mark) : mark_(mark) { mark_ = std::this_thread::get_id(); }
    ~Owner() { mark_ = std::thread::id(); }
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;

   private:
    std::atomic<std::thread::id>& mark_;
  };
  /// Held by the loader while it starts an epoch or changes its engine: it is not idle then.
  class Busy {
   public:
    explicit Busy(IdleLoader& idle) : lock_(idle.mutex_), owner_(idle.owner_) {}

   private:
    const std::lock_guard<std::mutex> lock_;
    const Owner owner_;
  };

 private:
  [[nodiscard]] std::unique_lock<std::mutex> try_lock() const;
  [[nodiscard]] bool idle() const;
  mutable std::mutex mutex_;
  std::atomic<std::thread::id> owner_{};
  Loader::Impl* loader_;
};

struct Loader::Impl {
  Impl(Dataset d, LoaderOptions o);
  Dataset dataset;
  LoaderOptions options;
  std::shared_ptr<MemoryBudget> budget;
  EngineSlot engine;
  std::shared_ptr<ConsumerState> consumer = std::make_shared<ConsumerState>();
  BlockMix resumed_mix;   ///< Of a state that was loaded; as if it had been given.
  std::string data_hash;  ///< Of what the rows are; never changes.
  std::optional<RankShare> framework_rank;
  std::optional<Label> label;  ///< Of a sampler that needs one.
  bool rows_changed = false;   ///< The list of the sampler is another than the engine's.
  bool closed = false;
  std::weak_ptr<void> live_epoch;  ///< Of whoever may still ask for batches.
  std::shared_ptr<IdleLoader> idle;
  std::shared_ptr<BlockKeeper> kept;  ///< What engines of this loader keep; outlives them where the plan allows.
  Keep kept_as = Keep::kNothing;
  std::string kept_identity;
  std::shared_ptr<RowStore> whole_cache;  ///< The one that was found in the directory, for all engines.
  std::optional<CodingProbe> probe;       ///< What re-encoding would make of the blocks, once it was tried.
  bool probed = false;

  [[nodiscard]] Result<RankChoice> choose_own_rank() const;
  /// Resolve every automatic setting, reserve nothing. Errors leave everything as it was.
  Result<std::shared_ptr<Engine>> make_engine(const BlockMix& mix);
  /// End the engine and make it anew, as options and what is known by now say.
  Status remake();
  /// What there is of the cache directory.
  void look_for_cache(PlanContext& context);
  /// Plan anew where the plan counted on what turned out otherwise: blocks that do not fit encoded, rows that are
  /// damaged, memory that others have taken.
  Status revise();
  /// Reserve the engine's memory, if need be from caches and idle loaders; with less than it planned for, plan anew.
  Status fund();
  Status reserve(Engine& engine);
  void make_budget();
  /// The rank may have become known only now: launchers set it, and frameworks, after loaders are made.
  Status follow_rank();
  [[nodiscard]] LoaderState state_at(Position position) const;
  [[nodiscard]] Position position() const;
};

std::string explain_plan(const Loader::Impl& loader);
Report make_report(const Loader::Impl& loader);

}  // namespace headrace
