// bench: the loader against a consumer that takes no time. What it cannot do here it cannot do in a training either.
#include <fmt/format.h>
#include <headrace/base/bytes.h>
#include <headrace/tools/tools.h>

#include <algorithm>

#include "base/clock.h"
#include "base/number_text.h"
#include "tools/json.h"
#include "tools/text_table.h"

namespace headrace {
namespace {

constexpr std::chrono::milliseconds kTick{100};  // between two calls of progress

double seconds_since(std::uint64_t start_ns) {
  return static_cast<double>(now_ns() - start_ns) * 1e-9;
}

struct EpochTiming {
  std::uint64_t number = 0, samples = 0;
  double seconds = 0;
};

struct Run {
  std::vector<EpochTiming> epochs;
  std::uint64_t batches = 0, samples = 0, first_batch_samples = 0, bytes = 0;
  double seconds = 0, first_batch_seconds = 0;
  bool stopped = false;  // by the time limit

  /// Samples a second after the first batch: start-up apart.
  [[nodiscard]] double steady_rate() const {
    const double rest = seconds - first_batch_seconds;
    return rest > 0 ? static_cast<double>(samples - first_batch_samples) / rest : 0;
  }
};

Run deliver(Loader& loader, const BenchOptions& options,
            const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
  Run run;
  const std::uint64_t total = loader.dataset().size() * options.epochs;
  const std::uint64_t start = now_ns();
  const auto tick = [&] {
    if (progress && !progress(run.samples, total)) throw Error(ErrorCode::kCancelled, "stopped before the end");
  };
  std::uint64_t last_tick = start;
  for (std::uint64_t e = 0; e < options.epochs && !run.stopped; ++e) {
    Loader::Epoch epoch = loader.epoch();
    EpochTiming timing;
    timing.number = epoch.number();
    const std::uint64_t epoch_start = now_ns();
    for (;;) {
      while (!epoch.wait(kTick)) tick();
      const std::optional<Batch> batch = epoch.next();
      if (!batch) break;
      if (run.batches++ == 0) run.first_batch_seconds = seconds_since(start), run.first_batch_samples = batch->rows();
      run.samples += batch->rows(), timing.samples += batch->rows();
      for (std::size_t i = 0; i < batch->fields().size(); ++i) run.bytes += batch->array(i).size_bytes();
      const std::uint64_t now = now_ns();
      if (now - last_tick > static_cast<std::uint64_t>(std::chrono::nanoseconds(kTick).count()))
        tick(), last_tick = now;
      run.stopped = options.max_seconds > 0 && static_cast<double>(now - start) * 1e-9 >= options.max_seconds;
      if (run.stopped) break;
    }
    timing.seconds = seconds_since(epoch_start);
    run.epochs.push_back(timing);
  }
  run.seconds = seconds_since(start);
  return run;
}

std::string rate(double samples_per_second) {
  return group_digits(static_cast<std::uint64_t>(std::max(samples_per_second, 0.0)));
}

std::string shuffle_name(Shuffle shuffle) {
  switch (shuffle.mode()) {
    case Shuffle::kNone:
      return "none";
    case Shuffle::kBlock:
      return "block";
    case Shuffle::kExact:
      return "exact";
  }
  return "none";
}

std::string text(const Run& run, const Loader& loader) {
  const double samples = static_cast<double>(run.samples);
  std::string out =
      fmt::format("{} samples in {} batch{} of {}, {}, {} epoch{}{}\n\n", group_digits(run.samples),
                  group_digits(run.batches), run.batches == 1 ? "" : "es", loader.options().batch_size,
                  loader.options().shuffle.mode() == Shuffle::kNone ? "in order" : "shuffled", run.epochs.size(),
                  plural(run.epochs.size()), run.stopped ? fmt::format(", stopped after {:.1f} s", run.seconds) : "");
  TextTable table({{""},
                   {"samples", TextTable::Align::kRight},
                   {"seconds", TextTable::Align::kRight},
                   {"samples/s", TextTable::Align::kRight},
                   {"GB/s", TextTable::Align::kRight}});
  const double sample_bytes = run.samples == 0 ? 0 : static_cast<double>(run.bytes) / samples;
  const auto add = [&](std::string name, std::uint64_t n, double seconds) {
    const double r = seconds > 0 ? static_cast<double>(n) / seconds : 0;
    table.add({std::move(name), group_digits(n), fmt::format("{:.3f}", seconds), rate(r),
               fmt::format("{:.2f}", r * sample_bytes * 1e-9)});
  };
  add("first batch", run.first_batch_samples, run.first_batch_seconds);
  for (const EpochTiming& e : run.epochs) add(fmt::format("epoch {}", e.number), e.samples, e.seconds);
  if (run.samples > run.first_batch_samples)
    add("after the first batch", run.samples - run.first_batch_samples, run.seconds - run.first_batch_seconds);
  add("all", run.samples, run.seconds);
  for (const std::string& line : table.lines()) out += line + "\n";
  return out + "\n" + loader.report().text();
}

}  // namespace

ToolResult bench(Loader& loader, const BenchOptions& options,
                 const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
  const Run run = deliver(loader, options, progress);
  const Report report = loader.report();
  ToolResult result;
  result.findings = report.slow_path_chunks > 0;
  result.text = text(run, loader);
  if (!result.text.empty() && result.text.back() != '\n') result.text += '\n';

  Json epochs = Json::array();
  for (const EpochTiming& e : run.epochs)
    epochs.push_back({{"epoch", e.number}, {"samples", e.samples}, {"seconds", e.seconds}});
  const Json parsed = Json::parse(report.json(), nullptr, false);
  result.json = dump({{"samples", run.samples},
                      {"batches", run.batches},
                      {"batch_size", loader.options().batch_size},
                      {"shuffle", shuffle_name(loader.options().shuffle)},
                      {"seed", loader.options().seed},
                      {"delivered_bytes", run.bytes},
                      {"seconds", run.seconds},
                      {"samples_per_second", run.seconds > 0 ? static_cast<double>(run.samples) / run.seconds : 0.0},
                      {"bytes_per_second", run.seconds > 0 ? static_cast<double>(run.bytes) / run.seconds : 0.0},
                      {"first_batch_seconds", run.first_batch_seconds},
                      {"steady_samples_per_second", run.steady_rate()},
                      {"read_amplification", report.read_amplification},
                      {"memory_peak_bytes", report.memory.peak_bytes},
                      {"memory_budget_bytes", report.memory.budget_bytes},
                      {"stopped_by_time", run.stopped},
                      {"epochs", std::move(epochs)},
                      {"report", parsed.is_discarded() ? Json(nullptr) : parsed}});
  return result;
}

}  // namespace headrace
