#include "tools/advise/loader_probe.h"

#include <algorithm>

#include "base/clock.h"
#include "loader/engine/access.h"
#include "loader/plan/plan_for.h"
#include "tools/advise/forecast.h"
#include "tools/advise/unit_decodes.h"
#include "tools/advise/unit_sample.h"

namespace headrace {
namespace {

constexpr std::uint64_t kTrialWindowBytes = 320 << 20;  // that is soon full
constexpr std::uint64_t kTrialShuffleBytes = 16 << 20;  // decoded, mixed at a time, where the window is too short
constexpr std::uint64_t kTrialSlackBytes = 1 << 20;
constexpr std::uint64_t kMostUnits = 256, kMostUnitBytes = 96 << 20;
constexpr double kLateFactor = 4;  // more time, where files answer late
constexpr double kFirstSeconds = 0.15, kOneThreadSeconds = 0.25, kAllThreadsSeconds = 0.4, kKeptSeconds = 0.25;

/// A loader to be tried, and its plan.
struct LoaderTrial {
  LoaderOptions options;
  EnginePlan plan;
  double decodes = 1;  ///< Decodes of a unit in an epoch.
};

Result<LoaderTrial> trial_of(const Dataset& dataset, LoaderOptions options) {
  HEADRACE_ASSIGN(EnginePlan plan, window_plan_for(dataset, options, options.memory));
  const double decodes = unit_decodes(source_of(dataset), plan);
  return LoaderTrial{std::move(options), std::move(plan), decodes};
}

/// The run's loader with a window that is soon full. A shuffle that mixes more than that mixes less: units are decoded
/// whole either way, and more of their samples are wanted at a time.
Result<LoaderTrial> short_trial(const Dataset& dataset, LoaderOptions options, const EnginePlan& plan) {
  options.cache = {CacheChoice::kNone, {}};
  options.share = Share::kNothing;
  options.staged_batches = 0;
  options.timeout = {};
  if (options.order.is<OnlineSampler>()) options.order = InOrder{};  // no program feeds it
  const std::uint64_t each = plan.slot_bytes + plan.slot_index_bytes;
  const std::uint64_t slots =
      std::min(plan.slots, std::max(kTrialWindowBytes / std::max<std::uint64_t>(each, 1), plan.direct_window_slots()));
  options.memory = std::min(plan.budget_bytes, plan.window_bytes() - (plan.slots - slots) * each + kTrialSlackBytes);
  Result<LoaderTrial> trial = trial_of(dataset, options);
  if (!trial.ok()) options.memory = plan.budget_bytes, trial = trial_of(dataset, options);
  if (!trial.ok() || !options.order.is_shuffle() || trial->decodes < 1.5) return trial;
  options.order = BlockShuffle{{0, 0, kTrialShuffleBytes}};
  Result<LoaderTrial> mixed_less = trial_of(dataset, options);
  return mixed_less.ok() && mixed_less->decodes < trial->decodes ? mixed_less : trial;
}

/// What threads and consumer did by now.
struct TrialMoment {
  std::uint64_t ns = 0, cpu_ns = 0;
  StageTable stages{};
};
TrialMoment moment_of(const Loader& loader) {
  return {now_ns(), process_cpu_ns(), engine_of(loader)->stages().totals()};
}

/// A loader that is iterated, epoch after epoch.
class TrialRun {
 public:
  TrialRun(const Dataset& dataset, const LoaderOptions& options) : loader_(dataset, options) {}
  [[nodiscard]] const Loader& loader() const { return loader_; }
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  [[nodiscard]] std::uint64_t samples() const { return samples_; }
  /// Begin with the first batch of the first epoch again.
  void rewind() {
    epoch_.reset();
    loader_.set_epoch(0);
  }
  /// Take a batch. \return False where none can be had: the first failure is kept.
  bool next() {
    for (int tries = 0; tries < 2 && !failure_; ++tries) try {
        if (!epoch_) epoch_.emplace(loader_.epoch());
        if (const std::optional<Batch> batch = epoch_->next()) return samples_ += batch->rows(), true;
        epoch_.reset();
      } catch (const Error& error) {
        failure_ = error;
      }
    return false;
  }
  /// Take batches until `seconds` have passed, `least` of them at least. \return How many there were.
  std::uint64_t take(double seconds, std::uint64_t least) {
    const std::uint64_t limit = now_ns() + static_cast<std::uint64_t>(seconds * 1e9);
    std::uint64_t batches = 0;
    while ((batches < least || now_ns() < limit) && next()) ++batches;
    return batches;
  }

 private:
  Loader loader_;
  std::optional<Loader::Epoch> epoch_;
  std::optional<Error> failure_;
  std::uint64_t samples_ = 0;
};

/// A rate, and what of the bytes was read from files.
struct TrialRate {
  ServingRate rate;
  double stored_bytes_a_sample = 0;
  double move_seconds = 0;  ///< Time of a thread for a sample whose units are decoded already.
  std::optional<Error> failure;
};

/// \param is_whole_window  The window is the plan's own: threads that wait for it will wait in the run too.
TrialRate serve_trial(const Dataset& dataset, LoaderTrial trial, std::uint32_t threads, bool is_whole_window,
                      double chunked_share, double seconds) {
  trial.options.threads = threads;
  TrialRun run(dataset, trial.options);
  const std::uint64_t slots = engine_of(run.loader())->plan().slots;
  for (std::uint64_t i = 0, start = now_ns(); i < slots; ++i)  // memory is touched, the window is full
    if (!run.next() || static_cast<double>(now_ns() - start) > 0.5e9 * seconds) break;
  const std::uint64_t before_samples = run.samples();
  const TrialMoment before = moment_of(run.loader());
  run.take(seconds, 1);
  const TrialMoment after = moment_of(run.loader());
  TrialRate out;
  out.failure = run.failure();
  ServingRate& rate = out.rate;
  rate.threads = threads;
  rate.rows = run.samples() - before_samples;
  const auto of_stage = [&](Stage stage, std::uint64_t StageTotals::*figure) {
    const auto s = static_cast<std::size_t>(stage);
    return static_cast<double>(after.stages[s].*figure - before.stages[s].*figure);
  };
  const double wall = static_cast<double>(after.ns - before.ns), all = wall * threads,
               idle = std::min(of_stage(Stage::kWaitWork, &StageTotals::ns), 0.95 * all);
  const double worked = is_whole_window ? all : all - idle;  // ns of threads
  if (rate.rows == 0 || worked <= 0) return out;
  const auto samples = static_cast<double>(rate.rows);
  // As if every unit were decoded once.
  const double again = 1 + (trial.decodes - 1) * chunked_share;
  const double read = of_stage(Stage::kRead, &StageTotals::ns) / again,
               decode = of_stage(Stage::kDecode, &StageTotals::ns) / again,
               scatter = of_stage(Stage::kScatter, &StageTotals::ns);
  const double once = std::max(worked - (read + decode) * (again - 1), 1.0);
  rate.rows_per_s = samples * threads * 1e9 / once;
  rate.read_share = read / once, rate.decode_share = decode / once, rate.scatter_share = scatter / once;
  rate.processor_share = std::min(1.0, static_cast<double>(after.cpu_ns - before.cpu_ns) / std::max(all - idle, 1.0));
  out.stored_bytes_a_sample = of_stage(Stage::kRead, &StageTotals::bytes) / again / samples;
  out.move_seconds = std::max(all - idle - (read + decode) * again, 1.0) * 1e-9 / samples;
  return out;
}

/// Samples a second of batches that are gathered from where all rows are kept; 0: this kind has no such place, or not
/// all of it fits.
double gathered_rate(const Dataset& dataset, LoaderOptions options, std::uint64_t budget_bytes, double seconds) {
  options.cache = {CacheChoice::kAuto, {}};
  options.memory = budget_bytes;
  const Result<EnginePlan> plan = plan_for(dataset, options, budget_bytes);
  if (!plan.ok() || !plan->gathers) return 0;
  TrialRun run(dataset, options);
  const std::uint64_t batches = run.take(seconds, 1);
  const std::uint64_t before = run.samples(), start = now_ns();
  const std::uint64_t limit = start + static_cast<std::uint64_t>(seconds * 1e9);
  do {
    run.rewind();  // the blocks of the same batches are there
    for (std::uint64_t b = 0; b < batches && run.next(); ++b) continue;
  } while (now_ns() < limit && !run.failure());
  return static_cast<double>(run.samples() - before) * 1e9 /
         static_cast<double>(std::max<std::uint64_t>(now_ns() - start, 1));
}

}  // namespace

Result<Probe> probe_loader(const Dataset& dataset, const LoaderOptions& options, const EnginePlan& plan,
                           const DataFacts& facts, std::uint32_t threads, double effort) {
  const std::uint64_t start = now_ns();
  Probe probe;
  HEADRACE_ASSIGN(const std::vector<SampledBlock> sample,
                  sample_units(source_of(dataset), plan.layout, kMostUnits, kMostUnitBytes));
  HEADRACE_ASSIGN(probe.reads, probe_reads(split_sample(sample), threads, plan.reads_in_flight, effort));
  if (probe.reads.late()) effort *= kLateFactor;  // until enough reads are in flight
  HEADRACE_ASSIGN(LoaderTrial trial, short_trial(dataset, options, plan));
  trial.options.threads = threads;
  const bool is_whole_window = trial.plan.slots >= plan.slots;
  const auto serve = [&](std::uint32_t of, double seconds) {
    return serve_trial(dataset, trial, of, is_whole_window, facts.chunked_share, effort * seconds);
  };
  try {
    (void)serve(threads, kFirstSeconds);  // what it reads is in the page cache then
    const TrialRate one = serve(1, kOneThreadSeconds), many = threads > 1 ? serve(threads, kAllThreadsSeconds) : one;
    probe.damage = one.failure ? one.failure : many.failure;
    if (many.rate.rows == 0 || one.rate.rows == 0)
      return probe.damage ? *probe.damage : Error(ErrorCode::kInternal, "a probe got no batch");
    probe.one = one.rate, probe.many = many.rate;
    probe.stored_bytes_a_row = many.stored_bytes_a_sample;
    HEADRACE_ASSIGN(probe.copy_bytes_per_s, copy_rate());
    // What is kept lies in memory, and not in a processor's cache as what was just decoded does.
    const double fetch_seconds = static_cast<double>(facts.sample_bytes) / probe.copy_bytes_per_s;
    const double kept = options.cache.mode == CacheChoice::kNone
                            ? 0
                            : gathered_rate(dataset, trial.options, plan.budget_bytes, effort * kKeptSeconds);
    probe.gather_one_rows_per_s =
        kept > 0 ? kept * one.rate.rows_per_s / many.rate.rows_per_s : 1 / (one.move_seconds + fetch_seconds);
    probe.gather_rows_per_s = kept > 0 ? kept : threads / (many.move_seconds + fetch_seconds);
  } catch (const Error& error) {
    return error;
  }
  HEADRACE_ASSIGN(probe.touch_bytes_per_s, touch_rate());
  probe.seconds = static_cast<double>(now_ns() - start) * 1e-9;
  return probe;
}

}  // namespace headrace
