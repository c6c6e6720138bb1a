#include "tools/bench/bench_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <headrace/bytes.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text/number_text.h"
#include "tools/bench/bench_baseline.h"
#include "tools/bench/bench_picture.h"
#include "tools/machine.h"
#include "tools/text_table.h"

namespace headrace {
namespace {

const std::vector<std::string>& column_titles() {
  static const std::vector<std::string> titles = {"",         "first epoch", "later epochs", "Headrace is",
                                                  "batch ms", "p99",         "first batch",  "epoch"};
  return titles;
}

std::string rate_cell(const Json& pass) {
  return pass.is_object() ? rate_text(pass["samples_per_second"].get<double>()) : "–";
}

std::string factor(const Json& value) {
  return value.is_number() ? fmt::format("{:.{}f}x", value.get<double>(), value.get<double>() < 100 ? 1 : 0) : "–";
}

std::string milliseconds(const std::optional<double>& value) {
  return value ? fmt::format("{:.{}f}", *value, *value < 10 ? 2 : *value < 100 ? 1 : 0) : "–";
}

/// Batch sizes that occur; where there are several, each line names its own.
std::set<std::uint64_t> batch_sizes(const Json& bench) {
  std::set<std::uint64_t> sizes;
  for (const Json& c : bench["contestants"]) sizes.insert(c["batch_size"].get<std::uint64_t>());
  return sizes;
}

std::vector<std::vector<std::string>> rows(const Json& bench) {
  const bool several = batch_sizes(bench).size() > 1;
  std::vector<std::vector<std::string>> lines;
  for (const Json& c : bench["contestants"]) {
    std::string title = c.value("title", c["name"].get<std::string>());
    if (c.value("split", "train") == "validation") title += ", validation";
    if (several) title += fmt::format(", batch {}", c["batch_size"].get<std::uint64_t>());
    const Json& settled = c["later"].is_object() ? c["later"] : c["first"];
    const bool measured = settled.is_object();
    std::string is;
    if (const auto ratio = c.find("headrace_is"); ratio != c.end())
      is = fmt::format("{} / {}", factor((*ratio)["first"]), factor((*ratio)["later"]));
    const std::optional<double> start =
        measured && c["first"].is_object() ? number_at(c["first"], "first_batch_seconds") : std::nullopt;
    const Json& epoch = c["epoch_seconds"];
    const Json& seconds = epoch["later"].is_number() ? epoch["later"] : epoch["first"];
    lines.push_back({std::move(title), rate_cell(c["first"]), rate_cell(c["later"]), std::move(is),
                     milliseconds(measured ? number_at(settled, "batch_ms_mean") : std::nullopt),
                     milliseconds(measured ? number_at(settled, "batch_ms_p99") : std::nullopt),
                     start ? fmt::format("{:.2f} s", *start) : "–",
                     seconds.is_number() ? duration_text(seconds.get<double>()) : "–"});
  }
  return lines;
}

/// The titles and rows, without the column about rivals where there are none.
std::pair<std::vector<std::string>, std::vector<std::vector<std::string>>> cells(const Json& bench) {
  constexpr std::ptrdiff_t kRatio = 3;
  std::vector<std::string> titles = column_titles();
  std::vector<std::vector<std::string>> lines = rows(bench);
  const bool rivals = std::any_of(lines.begin(), lines.end(), [](const auto& line) { return !line[kRatio].empty(); });
  if (!rivals) {
    titles.erase(titles.begin() + kRatio);
    for (auto& line : lines) line.erase(line.begin() + kRatio);
  }
  return {std::move(titles), std::move(lines)};
}

/// The rates of every number of workers that was tried in the first round.
std::vector<std::string> tried_texts(const Json& bench) {
  std::vector<std::string> found;
  for (const Json& c : bench["contestants"]) {
    const auto tried = c.find("workers_tried");
    if (tried == c.end() || !tried->is_object()) continue;
    std::string rates;
    for (const auto& [workers, rate] : tried->items())
      if (rate.is_number())
        rates += fmt::format("{}{} with {}", rates.empty() ? "" : ", ", rate_text(rate.get<double>()), workers);
    found.push_back(
        fmt::format("{}: the fastest of {} workers", c.value("title", c["name"].get<std::string>()), rates));
  }
  return found;
}

std::string skipped_text(const Json& bench) {
  std::string out;
  const auto skipped = bench.find("skipped");
  if (skipped == bench.end()) return out;
  for (const Json& s : *skipped)
    out += paragraph("SKIPPED", 10, fmt::format("{}: {}", s.value("name", "?"), s.value("reason", "?")));
  return out;
}

}  // namespace

std::string rate_text(double rate) {
  if (rate >= 100) return group_digits(static_cast<std::uint64_t>(std::llround(rate)));
  return rate >= 10 ? fmt::format("{:.1f}", rate) : fmt::format("{:.2f}", rate);
}

std::string duration_text(double seconds) {
  if (seconds < 0.0995) return fmt::format("{:.{}f} ms", seconds * 1e3, seconds < 0.00995 ? 2 : 0);
  if (seconds < 90) return fmt::format("{:.{}f} s", seconds, seconds < 10 ? 1 : 0);
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  if (whole < 48 * 3600) return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
  return fmt::format("{:.1f} days", static_cast<double>(whole) / 86400);
}

std::string bench_data_text(const Json& bench) {
  const std::set<std::uint64_t> sizes = batch_sizes(bench);
  return fmt::format(
      "{} samples of {} in {} file{}; batches of {}", group_digits(bench.value("samples", std::uint64_t{0})),
      format_bytes(bench.value("sample_bytes", std::uint64_t{0})),
      bench.contains("page_cache") ? bench["page_cache"].value("files", 0) : 0,
      bench.contains("page_cache") && bench["page_cache"].value("files", 0) == 1 ? "" : "s", fmt::join(sizes, ", "));
}

std::string bench_method_text(const Json& bench) {
  std::size_t most = 0;
  for (const Json& c : bench["contestants"]) most = std::max(most, c["rounds"].size());
  std::string out = fmt::format("Median of {} round{}{}; rates of all samples; no training in between. ", most,
                                plural(most), most > 1 ? " in turns" : "");
  if (const auto cache = bench.find("page_cache"); cache != bench.end()) {
    if (const std::optional<double> share = number_at(*cache, "resident_share"))
      out +=
          fmt::format("{:.0f} % of the files' {} were in the page cache{}. ", *share * 100,
                      format_bytes(cache->value("bytes", std::uint64_t{0})),
                      *share >= 0.95 ? " (nothing was read from the disk)" : ": the first epoch also reads the disk");
    else
      out += "Whether the files were in the page cache is not known. ";
  }
  const auto keeps = [](const Json& c) { return c["name"] != "headrace" && c["later"].is_object(); };
  if (std::any_of(bench["contestants"].begin(), bench["contestants"].end(), keeps))
    out +=
        "In later epochs Headrace may deliver from memory (--memory, --cache), which the others do as their code "
        "says. ";
  if (bench.value("stopped_by_time", false)) out += "Epochs were cut short by the time limit (--seconds). ";
  out.pop_back();
  return out;
}

std::string bench_text(const Json& bench) {
  std::vector<TextTable::Column> columns;
  auto [titles, lines] = cells(bench);
  for (const std::string& title : titles)
    columns.push_back({title, title.empty() ? TextTable::Align::kLeft : TextTable::Align::kRight});
  TextTable table(std::move(columns));
  for (std::vector<std::string>& row : lines) table.add(std::move(row));
  std::string out = bench_data_text(bench) + "\n\n";
  for (const std::string& line : table.lines()) out += line + "\n";
  out += "\n" + paragraph("RATES", 10, "samples/s. Batch ms and p99: how long a batch lets the training wait.");
  out += paragraph("MEASURED", 10, bench_method_text(bench));
  for (const std::string& tried : tried_texts(bench)) out += paragraph("TRIED", 10, tried + ".");
  if (bench.contains("machine")) out += paragraph("MACHINE", 10, machine_text(bench["machine"]));
  return out + skipped_text(bench);
}

std::string bench_markdown(const Json& bench) {
  std::string out = fmt::format("# Loading speed\n\n{}.\n\n", bench_data_text(bench));
  auto [titles, lines] = cells(bench);
  titles[0] = "loader";
  std::string rule = "| --- |";
  for (std::size_t i = 1; i < titles.size(); ++i) rule += " ---: |";
  out += fmt::format("| {} |\n{}\n", fmt::join(titles, " | "), rule);
  for (const std::vector<std::string>& row : lines) out += fmt::format("| {} |\n", fmt::join(row, " | "));
  out += fmt::format("\nRates are samples/s. {}", bench_method_text(bench));
  if (bench.contains("machine")) out += fmt::format(" Machine: {}.", machine_text(bench["machine"]));
  out += '\n';
  for (const std::string& tried : tried_texts(bench)) out += fmt::format("\n{}.\n", tried);
  if (const auto skipped = bench.find("skipped"); skipped != bench.end())
    for (const Json& s : *skipped)
      out += fmt::format("\nNot measured: {}: {}\n", s.value("name", "?"), s.value("reason", "?"));
  return out;
}

ToolResult bench_report(const std::string& measured, const BenchJudgement& judgement) {
  Json bench = parse_bench(measured).value();
  ToolResult result;
  result.text = bench_text(bench);
  result.markdown = bench_markdown(bench);
  result.plot = bench_picture(bench);
  judge_bench(bench, judgement, result);
  result.json = dump(bench);
  return result;
}

}  // namespace headrace
