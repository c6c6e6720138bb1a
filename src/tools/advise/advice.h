// What advise() found and what it makes of it, before it is put into words.
#pragma once

#include <headrace/tools.h>

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/machine/cpu_count.h"
#include "base/machine/local_processes.h"
#include "loader/engine/small_budget.h"
#include "storage/storage_kind.h"
#include "tools/advise/forecast.h"
#include "tools/memory/memory_breakdown.h"

namespace headrace {

/// Settings and what they give.
struct AdvisedSettings {
  std::string name;  ///< "safe", "balanced", "max", or "advised".
  std::uint32_t threads = 1;
  std::uint64_t memory_bytes = 0;
  std::uint64_t slots = 0, slot_bytes = 0, wanted_slots = 0;
  bool has_whole_window = false;  ///< A longer window would not save any decoding.
  std::vector<MemoryComponent> components;
  std::uint64_t peak_bytes = 0;
  Forecast forecast;
  CacheAdvice cache;
  double start_seconds = 0;  ///< That touching the window's memory takes, in the first epoch.

  [[nodiscard]] std::uint64_t window_slots() const { return slots > 3 ? slots - 2 : 1; }
};

struct Advice {
  DataFacts data;
  std::uint64_t files = 0;
  std::set<std::string> companion_files;  ///< FILES of the fields' "FILES::PATH".
  std::vector<Storage> storages;          ///< Storages of the first, the middle and the last file, each once.
  MemoryLimits limits;
  CpuLimits cpus;
  Probe probe;
  RecodeProbe recode;                 ///< What the files would be, if they were written anew.
  std::optional<CodingProbe> coding;  ///< Probe of blocks that are kept in memory.
  AdvisedSettings advised;
  std::optional<SmallBudget> small;  ///< Where the advised memory is too small for the order: what decodes blocks once.
  std::vector<AdvisedSettings> presets;
  std::string threads_reason, memory_reason;
  /// The block shuffle was asked for, but all rows are in memory before the first batch: permuting them costs nothing.
  bool exact_is_free = false;
  static constexpr std::string_view kExactReason = "all rows are in memory: permuting them costs nothing";
  double target_per_second = 0;
  std::uint64_t epochs = 0;  ///< Number of epochs in which the cache must pay.
  bool epochs_assumed = true;

  LocalProcesses local;  ///< That divide what there is.

  /// Return the bytes that this process may use.
  [[nodiscard]] std::uint64_t available_bytes() const { return limits.rules().free_bytes / local.count; }
  /// Index in recode.codecs of the one that gains most, from memory and from the disk; 0: as stored.
  [[nodiscard]] std::size_t best_recoding() const;
  [[nodiscard]] Forecast recoded(std::size_t codec) const;
  /// Return the advised settings, if each block were decoded once.
  [[nodiscard]] Forecast once() const { return forecast(probe, data, 1, advised.threads); }
};

/// Measure and decide. Errors: as advise().
Result<Advice> make_advice(const RunConfig& run, const AdviseOptions& options);

/// Return true if a permutation of all rows costs nothing more than the plan's block shuffle, whose shape was not asked
/// for.
bool permuting_is_free(CacheAdvice::Kind kept, const EnginePlan& plan, const ShuffleShape& asked);

/// Return the seconds of the first epochs, with all that a first one costs more. \param rate  Samples a second from the
/// files.
std::vector<double> seconds_of_epochs(const Advice& advice, const AdvisedSettings& settings, double rate,
                                      std::size_t epochs);
/// Return the samples a second of a first epoch, by the same figures.
double first_epoch_rate(const Advice& advice, const AdvisedSettings& settings, double rate);
/// Return what Loader(cache=) takes; "none" where that was asked for.
std::string advised_cache(const Advice& advice, const RunConfig& run);
/// Return "is reached …" or what would reach it. Empty without a target.
std::string target_text(const Advice& advice);
std::string limit_text(const Advice& advice);
/// Return what a storage means for loading: by what was measured, where files answer late.
std::string storage_text(const Advice& advice, const Storage& storage);
/// Return why the window is as long as it is, and what that costs.
std::string window_text(const Advice& advice);
/// Return what rewriting the files would gain; empty where headrace rewrite has nothing for such files.
std::string recoding_text(const Advice& advice);
/// Return what to do next, in order, and why.
std::vector<std::string> next_steps(const Advice& advice, const RunConfig& run);
/// Return a run file of the advised settings, with the reasons as comments.
std::string advice_yaml(const Advice& advice, const RunConfig& run);

}  // namespace headrace
