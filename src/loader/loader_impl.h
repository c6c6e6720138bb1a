// What is behind a Loader handle: its engine, and its consumer.
#pragma once

#include <headrace/loader.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log_histogram.h"
#include "loader/engine/engine.h"
#include "loader/engine/engine_manager.h"
#include "loader/engine/small_budget.h"
#include "loader/plan/mixing.h"
#include "loader/position.h"
#include "storage/touched_files.h"

namespace headrace {

/// What the consumer was given, and how long it took. Writer: the consumer's thread; readers: any.
struct ConsumerState {
  using Counter = std::atomic<std::uint64_t>;
  Counter generation{0};  ///< Number of the newest Epoch; older ones have ended.
  Counter epochs_started{0}, epochs_finished{0}, batches{0}, samples{0};
  Counter ragged_rows{0};  ///< Rows of the first ragged field, with padding.
  Counter wait_ns{0}, work_ns{0};
  std::uint64_t batch_wait_ns = 0;      ///< Waited for the batch that comes next.
  LogHistogram batch_waits_ns;          ///< The same, of all batches that came.
  Counter order{0};                     ///< EngineManager::order() of the live epoch.
  Counter epoch{0}, samples_before{0};  ///< Where the live epoch is: samples handed out of it over all ranks.
  std::atomic<bool> in_epoch{false};    ///< Is there an epoch that has not ended?
  std::atomic<bool> all_given{false};   ///< Its last batch was handed out: there is only its end to tell.
  Position next;                        ///< Where the next epoch() begins.
  std::atomic<bool> sent{false};        ///< The live epoch was sent elsewhere, and nothing was taken since.
  std::atomic<bool> rewound{false};     ///< The live epoch was sent to `next`, and has given nothing since.
  Counter first_start_ns{0}, epoch_start_ns{0}, first_batch_ns{0}, last_batch_ns{0};
  Counter first_start_cpu_ns{0};       ///< Processor time of the process when the first epoch began.
  std::uint64_t working_since_ns = 0;  ///< 0: the consumer is not between two batches of an epoch.

  /// Return the processor seconds of the process since the first epoch began.
  [[nodiscard]] double cpu_seconds() const { return static_cast<double>(process_cpu_ns() - first_start_cpu_ns) * 1e-9; }
  /// Note that the consumer came back, at `now`. `counts`: what it did since the last batch was work on it.
  void stop_work(std::uint64_t now, bool counts) {
    if (working_since_ns != 0 && counts) work_ns += now - working_since_ns;
    working_since_ns = 0;
  }
  void add_wait(std::uint64_t ns) {
    wait_ns += ns;
    batch_wait_ns += ns;
  }
  void add_batch(const Batch& batch, std::uint64_t now) {
    batch_waits_ns.add(std::exchange(batch_wait_ns, 0));
    if (batches == 0) first_batch_ns = now - first_start_ns;
    ++batches;
    samples += batch.rows();
    for (std::size_t f = 0; f < batch.fields().size(); ++f)
      if (const auto offsets = batch.offsets(f); !offsets.empty()) {
        ragged_rows += static_cast<std::uint64_t>(offsets.back());
        break;
      } else if (const std::optional<std::uint64_t> width = batch.array(f).width()) {  // padding counts
        ragged_rows += batch.rows() * *width;
        break;
      }
    last_batch_ns = now;
    working_since_ns = now;
  }
  void begin(Position at) {
    epoch = at.epoch;
    samples_before = at.samples;
    next = {at.epoch + 1, 0};
    in_epoch = true;
    all_given = false;
    sent = false;
    rewound = false;
    batch_wait_ns = 0;
  }
  /// Set the live epoch to `at`; a new one would begin there too.
  void rewind(Position at) {
    begin(at);
    next = at;
    sent = true;
    rewound = true;
  }
  void handed_out(std::uint64_t end) {
    samples_before = end;
    if (rewound) next = {epoch + 1, 0};
    rewound = false;
  }
  /// Note that the program has what was taken of an epoch. Beside it another thread may take.
  void hand_out(const Loader::Place& place) {
    if (place.pass != generation) return;
    if (place.over)
      in_epoch = false;
    else
      handed_out(place.samples);
  }
  /// End the live epoch, if there is one: its engine is no more.
  void end_epoch() {
    in_epoch = false;
    ++generation;
  }
  [[nodiscard]] Position position() const { return in_epoch ? Position{epoch, samples_before} : next; }
};

struct Loader::Impl {
  std::shared_ptr<EngineManager> manager;
  std::mutex fields_mutex;
  std::vector<std::shared_ptr<const std::vector<Field>>> fields;  ///< Each that batches of an engine had; they differ
                                                                  ///< in "_weight" alone, so in their number.
  std::shared_ptr<ConsumerState> consumer = std::make_shared<ConsumerState>();
  std::shared_ptr<SmallBudgetMemo> small_budgets = std::make_shared<SmallBudgetMemo>();
  std::shared_ptr<MixingMemo> mixings = std::make_shared<MixingMemo>();

  [[nodiscard]] std::shared_ptr<Engine> engine() const { return manager->engine(); }
  [[nodiscard]] const Dataset& dataset() const { return manager->dataset(); }
  [[nodiscard]] const LoaderOptions& options() const { return manager->options(); }
  /// Throws kForked in a child process: before any lock is taken, as that may be the parent's.
  void check_process() const;
  [[nodiscard]] LoaderState state_at(Position position) const;
  /// A state that fits, what it goes on with that this loader has otherwise, and the rows that were given with it.
  struct Fitting {
    LoaderState state;
    std::optional<ShuffleOrder> other_shuffle;  // nullopt: the loader's own
    std::uint32_t other_lanes = 0;              // 0: the loader's own
    ListedRows::List list;                      // without rows: none
  };
  using Progress = std::function<bool(std::uint64_t, std::uint64_t)>;
  std::shared_ptr<Engine> start_preload(const std::shared_ptr<void>& alive, const Progress& progress);
  /// Throws what a state that does not fit is refused with. \param rows_follow  The rows of its epoch are given later:
  /// they are not looked at.
  [[nodiscard]] Fitting fit(const std::string& json, const ResumeOptions& options, bool rows_follow) const;
  /// Return what would decode every block once; nullopt: the plan of `engine` does.
  [[nodiscard]] std::optional<SmallBudget> small_budget(const std::shared_ptr<const Engine>& engine) const;
  /// Return how well the order of `engine` mixes; nullopt: it is no shuffle.
  [[nodiscard]] std::optional<Mixing> mixing(const std::shared_ptr<const Engine>& engine) const;
  /// Return the notices, among them those of files of the data set that were touched meanwhile.
  [[nodiscard]] const Notices& notices() const;
  mutable std::atomic<std::uint64_t> touched_seen{num_touched()};  // of the process's list
  mutable std::atomic<bool> touched_told{false};
};

/// The way to what a Loader keeps private.
struct LoaderInternals {
  static const Loader::Impl& of(const Loader& loader) { return *loader.impl_; }
};
/// Return what is behind a loader. Lives as long as the loader does.
inline const Loader::Impl& impl_of(const Loader& loader) {
  return LoaderInternals::of(loader);
}

std::string explain_plan(const Loader::Impl& loader);
Report make_report(const Loader::Impl& loader);

}  // namespace headrace
