#include "tools/advise/advice.h"

#include <fmt/format.h>
#include <headrace/bytes.h>

#include <algorithm>
#include <cmath>

#include "dataset/dataset_contents.h"
#include "loader/engine/access.h"
#include "loader/options/loader_settings.h"
#include "loader/plan/plan_for.h"
#include "tools/advise/loader_probe.h"
#include "tools/advise/unit_decodes.h"
#include "tools/advise/unit_sample.h"

namespace headrace {
namespace {

constexpr double kDefaultShare = 0.60;  // of what is available
constexpr double kHeadway = 1.15;       // over the target: a loader that is just fast enough is late half the time
constexpr std::uint64_t kAssumedEpochs = 10, kMostEpochs = 10'000;  // later ones are all alike
constexpr double kRecodeSeconds = 0.25;
constexpr std::uint64_t kMiB = 1 << 20;

std::uint64_t whole_mebibytes(std::uint64_t bytes) {
  return std::max<std::uint64_t>(bytes >> 20, 1) << 20;
}

std::vector<Storage> storages_of(const Dataset& dataset) {
  std::vector<Storage> out;
  const std::vector<FileEntry>& files = dataset.files();
  for (const std::size_t i : {std::size_t{0}, files.size() / 2, files.size() - 1}) {
    Storage storage = storage_of(files[i].path);
    if (std::none_of(out.begin(), out.end(), [&](const Storage& s) { return s.name == storage.name; }))
      out.push_back(std::move(storage));
  }
  return out;
}

/// What a loader of this data would keep, and where: it is asked, as kinds of sample differ in what they accept.
CacheRoom cache_room(const Dataset& dataset, LoaderOptions options, const EnginePlan& window) {
  CacheRoom room{cache_room_bytes(window), cache_rest_bytes(window)};
  const auto planned = [&](CacheChoice cache) {
    options.cache = std::move(cache);
    return plan_for(dataset, options, window.budget_bytes);
  };
  if (const auto plan = planned({CacheChoice::kDirectory, "cache/"}); !plan.ok() || plan->tier != CacheTier::kDirectory)
    room.directory_fits = false;
  if (const auto plan = planned({CacheChoice::kRam, {}}); !plan.ok() || plan->tier == CacheTier::kNothing)
    room.all_can_stay = false;
  if (const auto plan = planned({CacheChoice::kAuto, {}}); !plan.ok() || plan->tier == CacheTier::kNothing)
    room.rest_bytes = 0;
  return room;
}

AdvisedSettings settle(const Advice& advice, const Dataset& dataset, const LoaderOptions& options,
                       const EnginePlan& plan, std::uint64_t chunks, std::string name) {
  AdvisedSettings s;
  s.name = std::move(name);
  s.threads = plan.threads;
  s.memory_bytes = plan.budget_bytes;
  s.slots = plan.slots, s.slot_bytes = plan.slot_bytes, s.wanted_slots = plan.wanted_slots;
  s.has_whole_window = plan.slots >= plan.wanted_slots;
  s.components = memory_components(plan, chunks);
  s.peak_bytes = sum_bytes(s.components);
  s.forecast = forecast(advice.probe, advice.data, unit_decodes(source_of(dataset), plan), plan.threads);
  const std::uint64_t left = advice.available_bytes() - std::min(advice.available_bytes(), plan.budget_bytes);
  const bool wanted = options.cache.mode != CacheChoice::kNone;
  CacheRoom room = wanted ? cache_room(dataset, options, plan) : CacheRoom{0, 0, 0, false};
  room.page_cache_bytes = left;
  s.cache = choose_cache(advice.probe, advice.coding ? &*advice.coding : nullptr, advice.data, s.forecast, plan.threads,
                         room);
  if (!wanted) s.cache.reason = "set by you";
  if (advice.probe.touch_bytes_per_s > 0 && s.cache.kept_share > 0 && s.cache.kind != CacheAdvice::Kind::kDirectory)
    s.cache.keep_seconds_a_row +=  // fresh memory is part of what keeping a row costs
        s.cache.kept_bytes_share * advice.data.decoded_bytes_a_sample() / advice.probe.touch_bytes_per_s;
  if (advice.data.has_cells && s.cache.kept_share > 0)  // which are decoded, and then copied to where they are kept
    s.cache.keep_seconds_a_row += advice.data.decoded_bytes_a_sample() / advice.probe.copy_bytes_per_s;
  if (options.cache.mode == CacheChoice::kAuto) {
    const double rest = static_cast<double>(room.rest_bytes) /
                        static_cast<double>(std::max<std::uint64_t>(advice.data.decoded_bytes, 1));
    s.cache = over_epochs(s.cache, rest, s.forecast.warm, static_cast<double>(advice.data.epoch_samples),
                          static_cast<std::size_t>(advice.epochs));
  }
  if (s.cache.kind == CacheAdvice::Kind::kAllInMemory || s.cache.kind == CacheAdvice::Kind::kRecoded) {
    EnginePlan short_window = plan;  // batches come from memory then
    short_window.slots = s.slots = direct_window_slots(plan);
    s.components = memory_components(short_window, chunks);
  }
  if (s.cache.kind == CacheAdvice::Kind::kDirectory || s.cache.kind == CacheAdvice::Kind::kAllInMemory)
    s.forecast =  // from the first epoch on, whatever the window
        forecast(advice.probe, advice.data, 1, plan.threads);
  if (s.cache.kind == CacheAdvice::Kind::kAllInMemory)
    s.components.push_back({"decoded data", advice.data.decoded_bytes, "kept for later epochs"});
  else if (s.cache.kind == CacheAdvice::Kind::kRecoded)
    s.components.push_back(
        {"recoded data",
         static_cast<std::uint64_t>(static_cast<double>(advice.data.decoded_bytes) * s.cache.kept_bytes_share),
         "kept for later epochs"});
  else if (s.cache.kind == CacheAdvice::Kind::kPart)
    s.components.push_back({"kept data", std::min(cache_rest_bytes(plan), advice.data.decoded_bytes),
                            "kept for later epochs, as much as fits"});
  s.peak_bytes = sum_bytes(s.components);
  if (advice.probe.touch_bytes_per_s > 0)
    s.start_seconds = static_cast<double>(s.slots * plan.slot_bytes) / advice.probe.touch_bytes_per_s;
  return s;
}

/// Threads: as given; the fewest that reach the target; one where more gain nothing; else all.
std::uint32_t choose_threads(const Advice& a, const LoaderOptions& options, double decodes, std::string& reason) {
  if (options.threads) return reason = "set by you", options.threads;
  const auto all = static_cast<std::uint32_t>(a.cpus.usable);
  if (a.target_per_second > 0)
    for (std::uint32_t t = 1; t < all; ++t)
      if (forecast(a.probe, a.data, decodes, t).warm >= kHeadway * a.target_per_second)
        return reason = "the fewest that reach the target; the other processors are the training's", t;
  if (all > 1 && (!a.probe.busy() || a.data.slow_path) && a.probe.many.rows_per_s < 1.1 * a.probe.one.rows_per_s)
    return reason = a.data.slow_path ? "more gain nothing: some fields are decoded or converted one at a time"
                                     : "more gain nothing here: one thread is as fast",
           1;
  return reason = fmt::format("one for each processor this process may use ({})", a.cpus.rules().rule), all;
}

/// Measure serving, and what other codecs would do.
Status measure_serving(Advice& a, const Dataset& dataset, const LoaderOptions& options, const EnginePlan& plan,
                       std::uint32_t threads, double effort) {
  const SampleSource& source = source_of(dataset);
  const Source* const rows = source.rows();
  if (rows != nullptr) {
    HEADRACE_ASSIGN(a.probe, probe_serving(*rows, plan, threads, effort));
  } else {
    HEADRACE_ASSIGN(a.probe, probe_loader(dataset, options, plan, a.data, threads, effort));
  }
  if (rows != nullptr && options.cache.mode != CacheChoice::kNone)  // the loader encodes blocks of rows alone
    a.coding = probe_codings(*impl_of(dataset), *MemoryBudget::process());
  if (a.data.has_cells) return {};  // headrace rewrite makes chunks of rows
  HEADRACE_ASSIGN(const std::vector<SampledBlock> one, sample_units(source, plan.layout, 1, 0));
  const Source& first = rows != nullptr ? *rows : *source.mapped()->groups[0].source;
  HEADRACE_ASSIGN(a.recode, probe_recoding(first, one.front(), effort * kRecodeSeconds));
  return {};
}

}  // namespace

std::size_t Advice::best_recoding() const {
  const auto worth = [&](std::size_t i) { return recoded(i).warm * recoded(i).cold; };
  std::size_t best = 0;
  for (std::size_t i = 1; i < recode.codecs.size(); ++i)
    if (worth(i) > worth(best)) best = i;
  return best;
}

Forecast Advice::recoded(std::size_t codec) const {
  return recode.codecs.empty()
             ? advised.forecast
             : recoded_forecast(probe, recode, codec, data, advised.forecast.decodes, advised.threads);
}

std::vector<double> seconds_of_epochs(const Advice& a, const AdvisedSettings& s, double rate, std::size_t epochs) {
  std::vector<double> seconds = forecast_epochs(s.cache, rate, static_cast<double>(a.data.epoch_samples), epochs);
  seconds.front() += s.start_seconds;
  return seconds;
}

double first_epoch_rate(const Advice& a, const AdvisedSettings& s, double rate) {
  return static_cast<double>(a.data.epoch_samples) / std::max(seconds_of_epochs(a, s, rate, 1).front(), 1e-9);
}

std::string advised_cache(const Advice& a, const RunConfig& run) {
  return run.loader.cache.mode == CacheChoice::kNone ? "none" : cache_setting(a.advised.cache.kind);
}

bool permuting_is_free(CacheAdvice::Kind kept, const EnginePlan& plan, const ShuffleShape& asked) {
  return kept == CacheAdvice::Kind::kAllInMemory && plan.is_shuffled && plan.shape && asked == ShuffleShape{};
}

Result<Advice> make_advice(const RunConfig& run, const AdviseOptions& options) {
  const Dataset dataset = open_run(run);
  const SampleSource& source = source_of(dataset);
  Advice a;
  a.target_per_second = options.target_per_second;
  a.epochs_assumed = options.epochs == 0;
  a.epochs = a.epochs_assumed ? kAssumedEpochs : std::min(options.epochs, kMostEpochs);
  a.files = dataset.files().size();
  for (const auto& [files, paths] : dataset.companion_files()) a.companion_files.insert(files);
  a.storages = storages_of(dataset);
  a.limits = list_memory_limits();
  a.local = count_local_processes();
  a.cpus = list_cpu_limits({.local_processes = a.local.count});
  const std::uint64_t chunks = count_chunks(dataset);
  LoaderOptions loader = run.loader;
  const std::uint64_t most =  // that a loader gets without set_memory()
      whole_mebibytes(static_cast<std::uint64_t>(kDefaultShare * static_cast<double>(a.available_bytes())));
  std::uint64_t memory = loader.memory ? std::min(loader.memory, most) : most;
  HEADRACE_ASSIGN(EnginePlan plan, window_plan_for(dataset, loader, memory));
  a.data = facts_of(dataset, plan);

  const auto usable = static_cast<std::uint32_t>(a.cpus.usable);
  HEADRACE_TRY(measure_serving(a, dataset, loader, plan, std::min(plan.threads, std::max(usable, 1u)), options.effort));

  loader.threads = choose_threads(a, loader, unit_decodes(source, plan), a.threads_reason);
  HEADRACE_ASSIGN(plan, window_plan_for(dataset, loader, memory));
  if (plan.threads < loader.threads)
    a.threads_reason = "fewer than there are processors: each thread needs scratch memory";
  // All rows beside a short window; or, where no cache is wanted, the order's span.
  const bool keeps = loader.cache.mode == CacheChoice::kAuto || loader.cache.mode == CacheChoice::kRam;
  const std::uint64_t beside = plan.planned_bytes() - plan.slots * plan.slot_bytes;
  const std::uint64_t useful = beside + (keeps ? direct_window_slots(plan) : plan.wanted_slots) * plan.slot_bytes +
                               (keeps ? a.data.decoded_bytes + a.data.decoded_bytes / 64 : 0) + 16 * kMiB;
  const auto tight = static_cast<std::uint64_t>(kTightShare * static_cast<double>(a.available_bytes()));
  a.memory_reason = loader.memory <= most ? "set by you" : "the most that a loader gets here, less than memory=";
  if (keeps && useful > memory && useful <= tight)
    a.memory_reason += fmt::format("; {} would keep all decoded data as well", size_setting(useful));
  if (!run.loader.memory) {  // no more than is of use
    a.memory_reason = useful < memory ? keeps ? "enough for the batches and all decoded data: more would be unused"
                                        : a.data.is_mapped
                                            ? "enough for as many batches as the order can use: more would be unused"
                                            : "enough to decode each block once an epoch: more would be unused"
                                      : fmt::format("{:.0f} % of what is available", 100 * kDefaultShare);
    memory = std::min(memory, (useful + kMiB - 1) >> 20 << 20);
    HEADRACE_ASSIGN(plan, window_plan_for(dataset, loader, memory));
  }
  a.advised = settle(a, dataset, loader, plan, chunks, "advised");
  using Kind = CacheAdvice::Kind;
  a.exact_is_free = permuting_is_free(a.advised.cache.kind, plan, settings_of(run.loader).shuffle_buffer);
  if (const Kind kind = a.advised.cache.kind; kind == Kind::kPart || kind == Kind::kNone) {
    LoaderOptions window = loader;
    window.cache = {CacheChoice::kNone, {}};
    window.share = Share::kNothing;
    a.small = judge_small_budget(source, window, plan);
  }
  for (const auto& [name, share] : {std::pair{"safe", 0.40}, {"balanced", 0.60}, {"max", 0.75}}) {
    LoaderOptions own = run.loader;
    const bool spares_one = std::string_view(name) == "safe" && usable > 1;  // a processor for the training itself
    if (!own.threads) own.threads = spares_one ? usable - 1 : usable;
    const auto bytes = whole_mebibytes(static_cast<std::uint64_t>(share * static_cast<double>(a.available_bytes())));
    const Result<EnginePlan> preset = window_plan_for(dataset, own, bytes);
    if (preset.ok()) a.presets.push_back(settle(a, dataset, own, *preset, chunks, name));
  }
  return a;
}

}  // namespace headrace
