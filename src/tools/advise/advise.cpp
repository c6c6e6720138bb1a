// advise: which settings for this machine, and why. One screen, the same as data, the same as a run file.
#include <fmt/format.h>
#include <headrace/bytes.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <numeric>

#include "base/memory/memory_budget.h"
#include "base/text/number_text.h"
#include "tools/advise/advice.h"
#include "tools/text_table.h"

namespace headrace {
namespace {

using Align = TextTable::Align;

std::string whole(double number) {
  return group_digits(static_cast<std::uint64_t>(std::max(0.0, std::round(number))));
}

/// "0.4 s", "3 min 20 s", "2 h 5 min".
std::string duration(double seconds) {
  if (!(seconds < 1e9)) return "-";
  if (seconds < 0.0995) return fmt::format("{:.{}f} ms", seconds * 1e3, seconds < 0.00995 ? 1 : 0);
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  const auto s = static_cast<std::uint64_t>(seconds);
  return s < 7200 ? fmt::format("{} min {} s", s / 60, s % 60) : fmt::format("{} h {} min", s / 3600, s / 60 % 60);
}

double epoch_seconds(const Advice& a, double rate) {
  return static_cast<double>(a.data.epoch_samples) / std::max(rate, 1e-9);
}

/// Return the seconds of the training's epochs. \param rate  Samples a second from the files.
std::vector<double> epochs_of(const Advice& a, const AdvisedSettings& s, double rate) {
  return seconds_of_epochs(a, s, rate, static_cast<std::size_t>(a.epochs));
}

std::string cache_words(const CacheAdvice& cache) {
  return cache.kind == CacheAdvice::Kind::kNone ? "auto (keeps nothing)" : cache_setting(cache.kind);
}

/// A line for each setting; the reason wraps under itself.
std::string settings_text(const Advice& a) {
  const AdvisedSettings& s = a.advised;
  constexpr std::size_t kReason = 36;
  std::string out;
  const auto add = [&](std::string_view name, const std::string& value, const std::string& reason) {
    out += paragraph(fmt::format("  {:<8} {:<24}", name, value), kReason, reason);
  };
  add("threads", fmt::format("{}", s.threads), a.threads_reason);
  add("memory", size_setting(s.memory_bytes), a.memory_reason);
  add("window", fmt::format("{} batches ({})", s.slots, format_bytes(s.slots * s.slot_bytes)), window_text(a));
  add("cache", cache_words(s.cache), s.cache.reason);
  if (a.exact_is_free) add("shuffle", "exact", std::string(Advice::kExactReason));
  return out;
}

std::string expected_text(const Advice& a) {
  const AdvisedSettings& s = a.advised;
  TextTable table({{"expected"}, {"samples/s", Align::kRight}, {"epoch", Align::kRight}, {"GB/s", Align::kRight}});
  const auto add = [&](std::string name, double seconds) {
    const double rate = seconds > 0 ? static_cast<double>(a.data.epoch_samples) / seconds : 0;
    table.add({std::move(name), whole(rate), duration(seconds),
               fmt::format("{:.2f}", rate * static_cast<double>(a.data.sample_bytes) * 1e-9)});
  };
  const bool servers = std::any_of(a.storages.begin(), a.storages.end(), [](const Storage& t) { return t.shared(); });
  const std::vector<double> warm = epochs_of(a, s, s.forecast.warm);
  add(a.probe.reads.looks_warm() || servers ? "first epoch, from storage (its caches may have been warm)"
                                            : "first epoch, from storage",
      epochs_of(a, s, s.forecast.cold).front());
  add("first epoch, files in memory already", warm.front());
  if (warm.size() > 1) add("second epoch", warm[1]);
  if (warm.size() > 2) add(warm.size() == 10 ? "tenth epoch" : fmt::format("epoch {}", warm.size()), warm.back());
  std::string out = table.indented();
  const double keeping = warm.front() - s.start_seconds - epoch_seconds(a, s.forecast.warm);
  if (s.start_seconds + std::max(keeping, 0.0) >= 0.05)
    out += fmt::format("  about {} of a first epoch go into allocating memory and filling the cache\n",
                       duration(s.start_seconds + std::max(keeping, 0.0)));
  out += fmt::format("  {} epoch{} in {}{}\n", warm.size(), plural(warm.size()),
                     duration(std::accumulate(warm.begin(), warm.end(), 0.0)),
                     a.epochs_assumed ? " (assumed; set the number with --epochs)" : "");
  return out;
}

std::string presets_text(const Advice& a) {
  TextTable table({{"preset"},
                   {"threads", Align::kRight},
                   {"memory", Align::kRight},
                   {"peak", Align::kRight},
                   {"decodes per block", Align::kRight},
                   {"first epoch", Align::kRight},
                   {"later epochs", Align::kRight},
                   {"cache"}});
  for (const AdvisedSettings& s : a.presets)
    table.add({s.name, fmt::format("{}", s.threads), size_setting(s.memory_bytes), format_bytes(s.peak_bytes),
               fmt::format("{:.1f}", s.forecast.decodes), whole(first_epoch_rate(a, s, s.forecast.warm)),
               whole(s.cache.later), cache_setting(s.cache.kind)});
  const bool more = std::any_of(a.presets.begin(), a.presets.end(), [&](const AdvisedSettings& s) {
    return s.memory_bytes > process_memory_wanted() + (1 << 20);
  });
  return table.indented() + (more ? fmt::format("  a loader gets at most {} by itself; for more, call hr.set_memory() "
                                                "first\n",
                                                format_bytes(process_memory_wanted()))
                                  : "");
}

std::string screen(const Advice& a, const RunConfig& run) {
  std::string out;
  const auto line = [&](std::string_view key, const std::string& value) {
    out += paragraph(key, kLabelColumns, value);
  };
  const MemoryLimit& rules = a.limits.rules();
  line("DATA",
       fmt::format("{} file{}, {} samples of {}{}: {} decoded, {} stored ({})", a.files, plural(a.files),
                   group_digits(a.data.rows), format_bytes(a.data.sample_bytes), a.data.varies ? " on average" : "",
                   format_bytes(a.data.decoded_bytes), format_bytes(a.data.stored_bytes), a.data.codecs));
  line("MACHINE",
       fmt::format("{} processor{} ({}); {} of memory free ({} of {}){}", a.cpus.usable, plural(a.cpus.usable),
                   a.cpus.rules().rule, format_bytes(rules.free_bytes), rules.rule, rules.where, shared_text(a.local)));
  for (const Storage& s : a.storages) line("STORAGE", fmt::format("{}. {}", s.name, storage_text(a, s)));
  line("LIMIT", limit_text(a));
  if (a.probe.busy())
    line("BUSY",
         fmt::format("other programs use these processors: a thread had one for {:.0f} % of its time. Ask again when "
                     "the machine is quiet, or take the figures as those of a shared machine",
                     100 * a.probe.one.processor_share));
  if (a.target_per_second > 0) line("TARGET", target_text(a));
  out += "\n" + settings_text(a) + "\n" + expected_text(a);
  const Fit fit = judge_fit(a.advised.peak_bytes, a.available_bytes());
  out += fmt::format("  memory at the peak: {} ± {}, which {} (headrace check-memory has the parts)\n\n",
                     format_bytes(a.advised.peak_bytes), format_bytes(uncertainty_bytes(a.advised.peak_bytes)),
                     fit == Fit::kTight ? "is tight" : to_string(fit));
  out += presets_text(a) + "\n";
  if (const std::string rewriting = recoding_text(a); !rewriting.empty()) line("REWRITING", rewriting);
  if (a.probe.damage) line("DAMAGE", fmt::format("{}; headrace verify lists all of it", a.probe.damage->what()));
  const std::vector<std::string> steps = next_steps(a, run);
  for (std::size_t i = 0; i < steps.size(); ++i) line(i == 0 ? "NEXT" : "", fmt::format("{}. {}", i + 1, steps[i]));
  return out;
}

Json settings_json(const Advice& a, const AdvisedSettings& s) {
  static constexpr const char* kKinds[] = {"all_in_memory", "recoded", "directory", "part", "none"};
  return {{"name", s.name},
          {"threads", s.threads},
          {"memory_bytes", s.memory_bytes},
          {"window_batches", s.window_slots()},
          {"wanted_batches", s.wanted_slots},
          {"decodes_a_block", s.forecast.decodes},
          {"cache", cache_setting(s.cache.kind)},
          {"cache_kind", kKinds[static_cast<std::size_t>(s.cache.kind)]},
          {"cache_reason", s.cache.reason},
          {"kept_share", s.cache.kept_share},
          {"peak_bytes", s.peak_bytes},
          {"components", components_json(s.components)},
          {"cold_samples_per_second", s.forecast.cold},
          {"warm_samples_per_second", s.forecast.warm},
          {"later_samples_per_second", s.cache.later},
          {"start_seconds", s.start_seconds},
          {"first_epoch_samples_per_second", first_epoch_rate(a, s, s.forecast.warm)},
          {"first_epoch_seconds", epochs_of(a, s, s.forecast.cold).front()},
          {"epochs_seconds", epochs_of(a, s, s.forecast.warm)},
          {"later_epoch_seconds", epoch_seconds(a, s.cache.later)}};
}

/// As Report::DecodeOnce, with the rate that it would give.
Json once_json(const Advice& a) {
  if (!a.small) return nullptr;
  const auto& fitting = a.small->fitting;
  return {{"shuffle_buffer_bytes", fitting ? fitting->shape.bytes : 0},
          {"deff", fitting ? fitting->block_effect : 0},
          {"deff_now", a.small->block_effect},
          {"memory_bytes", a.small->memory_bytes},
          {"warm_samples_per_second", a.once().warm}};
}

Json serving_json(const ServingRate& r) {
  return {{"threads", r.threads},
          {"samples_per_second", r.rows_per_s},
          {"read_share", r.read_share},
          {"decode_share", r.decode_share},
          {"scatter_share", r.scatter_share},
          {"processor_share", r.processor_share},
          {"samples", r.rows}};
}

std::string_view bottleneck_name(Bottleneck b) {
  static constexpr std::string_view kNames[] = {"decoding", "reading", "moving", "decoding_again", "one_at_a_time"};
  return kNames[static_cast<std::size_t>(b)];
}

Json advice_json(const Advice& a, const RunConfig& run, const std::string& yaml) {
  Json storages = Json::array(), codecs = Json::array(), presets = Json::array();
  for (const Storage& s : a.storages)
    storages.push_back({{"kind", to_string(s.kind)}, {"name", s.name}, {"shared", s.shared()}, {"means", s.meaning()}});
  for (std::size_t i = 0; i < a.recode.codecs.size(); ++i) {
    const RecodedChunk& c = a.recode.codecs[i];
    codecs.push_back({{"codec", c.codec},
                      {"ratio", c.ratio},
                      {"decode_bytes_per_second", c.decode_bytes_per_s},
                      {"warm_samples_per_second", a.recoded(i).warm},
                      {"cold_samples_per_second", a.recoded(i).cold}});
  }
  for (const AdvisedSettings& s : a.presets) presets.push_back(settings_json(a, s));
  Json json = {{"data",
                {{"files", a.files},
                 {"samples", a.data.rows},
                 {"sample_bytes", a.data.sample_bytes},
                 {"decoded_bytes", a.data.decoded_bytes},
                 {"stored_bytes", a.data.stored_bytes},
                 {"codecs", a.data.codecs}}},
               {"cpus", {{"usable", a.cpus.usable}, {"rule", a.cpus.rules().rule}}},
               {"available_bytes", a.available_bytes()},
               {"limits", limits_json(a.limits)},
               {"storage", std::move(storages)},
               {"limit", bottleneck_name(a.advised.forecast.warm_bottleneck)},
               {"limit_cold", bottleneck_name(a.advised.forecast.cold_bottleneck)},
               {"limit_text", limit_text(a)},
               {"advised", settings_json(a, a.advised)},
               {"decode_once", once_json(a)},
               {"threads_reason", a.threads_reason},
               {"memory_reason", a.memory_reason},
               {"epochs", a.epochs},
               {"epochs_assumed", a.epochs_assumed},
               {"fit", to_string(judge_fit(a.advised.peak_bytes, a.available_bytes()))},
               {"presets", std::move(presets)},
               {"measured",
                {{"one", serving_json(a.probe.one)},
                 {"many", serving_json(a.probe.many)},
                 {"cold_read_bytes_per_second", a.probe.reads.cold_bytes_per_s},
                 {"warm_read_bytes_per_second", a.probe.reads.warm_bytes_per_s},
                 {"cold_looks_warm", a.probe.reads.looks_warm()},
                 {"seconds_a_read", a.probe.reads.seconds_a_read},
                 {"cold_reads_at_once", a.probe.reads.in_flight},
                 {"files_answer_late", a.probe.reads.late()},
                 {"gather_samples_per_second", a.probe.gather_rows_per_s},
                 {"touch_bytes_per_second", a.probe.touch_bytes_per_s},
                 {"busy", a.probe.busy()},
                 {"seconds", a.probe.seconds}}},
               {"rewriting", nullptr},
               {"next", next_steps(a, run)},
               {"run_file", yaml}};
  if (!a.data.has_cells)
    json["rewriting"] = {
        {"field", a.recode.field}, {"chunk_bytes", a.recode.chunk_bytes}, {"codecs", std::move(codecs)}};
  if (a.target_per_second > 0)
    json["target"] = {{"samples_per_second", a.target_per_second},
                      {"reached", std::max(first_epoch_rate(a, a.advised, a.advised.forecast.warm),
                                           a.advised.cache.later) >= a.target_per_second},
                      {"text", target_text(a)}};
  if (a.probe.damage) json["damage"] = error_json(*a.probe.damage);
  return json;
}

}  // namespace

double parse_rate(const std::string& text) {
  std::string clean;
  for (const char c : text)
    if (!std::isspace(static_cast<unsigned char>(c)) && c != ',' && c != '_')
      clean += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  double number = 0;
  const char* const end = clean.data() + clean.size();
  const auto [stop, ec] = std::from_chars(clean.data(), end, number);
  std::string unit(stop, end);
  if (unit.ends_with("/s")) unit.resize(unit.size() - 2);
  const double factor = unit.empty() ? 1 : unit == "k" ? 1e3 : unit == "m" ? 1e6 : 0;
  if (ec != std::errc() || factor == 0 || !(number > 0) || !std::isfinite(number))
    throw Error(ErrorCode::kInvalidArgument, fmt::format("'{}' is not a number of samples a second", text))
        .with_hint("Write for example 20000/s, 20000 or 20k/s.");
  return number * factor;
}

ToolResult advise(const RunConfig& asked, const AdviseOptions& options) {
  const Advice advice = make_advice(asked, options).value();
  RunConfig run = asked;
  if (advice.exact_is_free) run.loader.order = ExactShuffle{};
  ToolResult result;
  result.run_file = advice_yaml(advice, run);
  result.text = screen(advice, run);
  result.json = dump(advice_json(advice, run, result.run_file));
  return result;
}

}  // namespace headrace
