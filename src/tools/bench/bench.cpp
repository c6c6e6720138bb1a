// bench: the loader against a consumer that takes no time. What it cannot do here it cannot do in a training either.
#include <fmt/format.h>
#include <headrace/bytes.h>
#include <headrace/tools.h>

#include <algorithm>

#include "base/text/number_text.h"
#include "tools/bench/bench_baseline.h"
#include "tools/bench/bench_measured.h"
#include "tools/bench/bench_pass.h"
#include "tools/bench/bench_picture.h"
#include "tools/bench/bench_report.h"
#include "tools/text_table.h"

namespace headrace {
namespace {

std::string shuffle_name(const Order& order) {
  return order.is<BlockShuffle>() ? "block" : order.is<ExactShuffle>() ? "exact" : "none";
}

/// Shorter than this, batches that were ready before are handed over: that is no rate.
constexpr double kLeastSeconds = 1e-3;

double per_second(double amount, double seconds) {
  return seconds > 0 ? amount / seconds : 0;
}

std::string waits_text(const Json& contestant) {
  const bool later = contestant["later"].is_object();
  const Json& settled = later ? contestant["later"] : contestant["first"];
  if (!settled.is_object()) return "";
  std::string out = "\n";
  const std::optional<double> mean = number_at(settled, "batch_ms_mean"), p99 = number_at(settled, "batch_ms_p99");
  if (mean && p99)
    out += paragraph("BATCHES", 10, fmt::format("{:.2f} ms each on average, 99 % within {:.2f} ms", *mean, *p99));
  std::string epochs;
  for (const char* pass : {"first", "later"})
    if (const std::optional<double> seconds = number_at(contestant["epoch_seconds"], pass))
      epochs += fmt::format("{}{} {}", epochs.empty() ? "" : ", ",
                            pass == std::string_view("first") ? "the first" : "later ones", duration_text(*seconds));
  return out + paragraph("EPOCH", 10,
                         fmt::format("{}, estimated from these rates, of {} samples", epochs,
                                     group_digits(contestant["samples"].get<std::uint64_t>())));
}

/// What a batch has on this rank.
std::string batch_text(const Loader& loader) {
  if (const std::uint64_t size = usual_batch(loader); size > 0) return std::to_string(size);
  if (const auto* const budget = std::get_if<ByTokens>(&loader.options().batch))
    return fmt::format("up to {} rows", group_digits(budget->tokens));
  return fmt::format("up to {}", group_digits(loader.batch_rows()));
}

std::string text(const std::vector<BenchPass>& passes, const BenchPass& all, const Loader& loader) {
  const bool stopped = !all.complete;
  std::string out = fmt::format(
      "{} samples in {} batch{} of {}, {}, {} epoch{}{}\n\n", group_digits(all.samples), group_digits(all.batches),
      all.batches == 1 ? "" : "es", batch_text(loader), loader.options().order.is_shuffle() ? "shuffled" : "in order",
      passes.size(), plural(passes.size()), stopped ? fmt::format(", stopped after {:.1f} s", all.seconds) : "");
  TextTable table({{""},
                   {"samples", TextTable::Align::kRight},
                   {"seconds", TextTable::Align::kRight},
                   {"samples/s", TextTable::Align::kRight},
                   {"GB/s", TextTable::Align::kRight}});
  const double sample_bytes = all.samples == 0 ? 0 : static_cast<double>(all.bytes) / static_cast<double>(all.samples);
  const auto add = [&](std::string name, std::uint64_t n, double seconds) {
    const double rate = per_second(static_cast<double>(n), seconds);
    const bool measured = seconds >= kLeastSeconds;
    table.add({std::move(name), group_digits(n), fmt::format("{:.{}f}", seconds, measured ? 3 : 5),
               measured ? group_digits(static_cast<std::uint64_t>(rate)) : "–",
               measured ? fmt::format("{:.2f}", rate * sample_bytes * 1e-9) : "–"});
  };
  const BenchPass& first = passes.front();
  add("first batch", first.first_batch_samples, first.first_batch_seconds);
  for (const BenchPass& pass : passes) add(fmt::format("epoch {}", pass.epoch), pass.samples, pass.seconds);
  if (all.samples > first.first_batch_samples)
    add("after the first batch", all.samples - first.first_batch_samples, all.seconds - first.first_batch_seconds);
  add("all", all.samples, all.seconds);
  for (const std::string& line : table.lines()) out += line + "\n";
  return out;
}

}  // namespace

ToolResult bench(Loader& loader, const BenchOptions& options,
                 const std::function<bool(std::uint64_t, std::uint64_t)>& progress, const BenchJudgement& judgement) {
  Json measured = bench_frame_json(loader.dataset());
  const std::vector<BenchPass> passes = time_epochs(loader, options, progress);
  const BenchPass all = joined(passes);
  const BenchPass& first = passes.front();
  const Report report = loader.report();
  measured["stopped_by_time"] = !all.complete;
  measured["contestants"] = Json::array({bench_contestant(loader, "train")});
  measured["contestants"][0]["rounds"] = Json::array({bench_round(0, passes)});
  summarise_bench(measured).value();

  ToolResult result;
  result.findings = report.slow_path_chunks > 0;
  result.text = text(passes, all, loader) + waits_text(measured["contestants"][0]) + "\n" + report.text();
  if (result.text.back() != '\n') result.text += '\n';
  result.markdown = bench_markdown(measured);
  result.plot = bench_picture(measured);
  judge_bench(measured, judgement, result);

  Json epochs = Json::array();
  for (const BenchPass& pass : passes) {
    Json epoch = pass_json(pass);
    epoch["epoch"] = pass.epoch;
    epochs.push_back(std::move(epoch));
  }
  const Json parsed = Json::parse(report.json(), nullptr, false);
  const double steady_seconds = all.seconds - first.first_batch_seconds;
  Json json = {{"schema", kBenchSchema},
               {"samples", all.samples},
               {"batches", all.batches},
               {"batch_size", usual_batch(loader)},
               {"shuffle", shuffle_name(loader.options().order)},
               {"seed", loader.options().seed},
               {"delivered_bytes", all.bytes},
               {"seconds", all.seconds},
               {"samples_per_second", per_second(static_cast<double>(all.samples), all.seconds)},
               {"bytes_per_second", per_second(static_cast<double>(all.bytes), all.seconds)},
               {"first_batch_seconds", first.first_batch_seconds},
               {"steady_samples_per_second",
                per_second(static_cast<double>(all.samples - first.first_batch_samples), steady_seconds)},
               {"read_amplification", report.read_amplification},
               {"memory_peak_bytes", report.memory.peak_bytes},
               {"memory_budget_bytes", report.memory.budget_bytes},
               {"stopped_by_time", !all.complete},
               {"epochs", std::move(epochs)},
               {"report", parsed.is_discarded() ? Json(nullptr) : parsed}};
  measured.erase("samples");  // here it is what was delivered; the contestant has what the data set holds
  for (auto& [key, value] : measured.items())
    if (!json.contains(key)) json[key] = std::move(value);
  result.json = dump(json);
  return result;
}

}  // namespace headrace
