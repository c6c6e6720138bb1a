// bench of several batch sizes, and of validation files: in turns, since machines drift.
#include <headrace/tools.h>

#include <algorithm>

#include "base/clock.h"
#include "tools/bench/bench_measured.h"
#include "tools/bench/bench_pass.h"
#include "tools/bench/bench_report.h"

namespace headrace {
namespace {

constexpr double kSeconds = 60;  // for all rounds, where the options do not say
constexpr double kLeastPassSeconds = 0.2;

/// What is measured in each round.
struct Entry {
  const Dataset* dataset;
  LoaderOptions options;
  std::string split;
};

std::vector<Entry> entries_of(const RunConfig& run, const BenchSeries& series, const Dataset& train,
                              const std::optional<Dataset>& validation) {
  std::vector<Entry> entries;
  std::vector<std::uint64_t> sizes = series.batch_sizes;
  if (sizes.empty()) sizes.push_back(0);
  for (const std::uint64_t size : sizes) {
    LoaderOptions options = run.loader;
    if (size > 0) options.batch = Samples{size, tail_of(options.batch)};
    entries.push_back({&train, options, "train"});
    if (!validation) continue;
    options.order = InOrder{};
    entries.push_back({&*validation, options, "validation"});
  }
  return entries;
}

}  // namespace

ToolResult bench(const RunConfig& run, const BenchOptions& options, const BenchSeries& series,
                 const std::function<bool(std::uint64_t, std::uint64_t)>& progress, const BenchJudgement& judgement) {
  const Dataset train = open_run(run);
  std::optional<Dataset> validation;
  if (!series.validation_files.empty()) validation = open_run(run, series.validation_files);
  const std::vector<Entry> entries = entries_of(run, series, train, validation);

  Json measured = bench_frame_json(train);
  const std::uint64_t rounds = std::max<std::uint64_t>(series.rounds, 1), turns = rounds * entries.size();
  const double seconds = options.max_seconds > 0 ? options.max_seconds : kSeconds;
  const std::uint64_t start = now_ns();
  Json contestants = Json::array();
  bool stopped = false;
  std::uint64_t turn = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    if (round > 0 && static_cast<double>(now_ns() - start) * 1e-9 > seconds) break;
    for (std::size_t i = 0; i < entries.size(); ++i, ++turn) {
      const Entry& entry = entries[i];
      const double left = seconds - static_cast<double>(now_ns() - start) * 1e-9;
      BenchOptions one = options;
      one.max_seconds = std::max(left / static_cast<double>(turns - turn), kLeastPassSeconds);
      Loader loader(*entry.dataset, entry.options);
      if (round == 0) {
        contestants.push_back(bench_contestant(loader, entry.split));
        contestants.back()["rounds"] = Json::array();
      }
      const auto tick = [&](std::uint64_t, std::uint64_t) { return !progress || progress(turn, turns); };
      const std::vector<BenchPass> passes = time_epochs(loader, one, tick);
      stopped = stopped || !passes.back().complete;
      contestants[i]["rounds"].push_back(bench_round(round, passes));
    }
  }
  measured["stopped_by_time"] = stopped;
  measured["contestants"] = std::move(contestants);
  return bench_report(dump(measured), judgement);
}

}  // namespace headrace
