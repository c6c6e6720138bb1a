#include "tools/bench/bench_baseline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "storage/whole_file.h"
#include "tools/bench/bench_report.h"
#include "tools/text_table.h"

namespace headrace {
namespace {

constexpr double kToldPercent = 10;  // named as slower where no limit was given: less comes and goes by itself
constexpr std::uint64_t kMaxBytes = 64 << 20;

Json load_baseline(const std::string& path) {
  auto text = read_whole_file(path, kMaxBytes);
  if (!text.ok()) throw text.error().with_hint("Name a file that `headrace bench --json > FILE` or --save wrote.");
  Result<Json> bench = parse_bench(*text);
  if (!bench.ok()) throw bench.error().with_file(path);
  return std::move(*bench);
}

/// What would make the two runs measurements of different things.
std::vector<std::string> differences(const Json& before, const Json& now) {
  std::vector<std::string> found;
  const auto at = [](const Json& bench, const char* outer, const char* key) -> Json {
    const auto inside = bench.find(outer);
    return inside != bench.end() && inside->is_object() ? inside->value(key, Json()) : Json();
  };
  if (at(before, "machine", "cpu") != at(now, "machine", "cpu") ||
      at(before, "machine", "cores") != at(now, "machine", "cores"))
    found.emplace_back("another machine");
  // What the data set holds: the number above it counts what one pass, or all passes, delivered.
  const auto samples = [](const Json& bench) {
    const Json& contestants = bench.at("contestants");
    return contestants.empty() ? Json() : contestants[0].value("samples", Json());
  };
  if (samples(before) != samples(now) || before.value("sample_bytes", Json()) != now.value("sample_bytes", Json()))
    found.emplace_back("other data");
  return found;
}

const Json* same_contestant(const Json& bench, const Json& wanted) {
  for (const Json& c : bench["contestants"])
    if (c["name"] == wanted["name"] && c["batch_size"] == wanted["batch_size"] &&
        c.value("split", "train") == wanted.value("split", "train") &&
        c.value("workers", Json()) == wanted.value("workers", Json()))
      return &c;
  return nullptr;
}

}  // namespace

void judge_bench(Json& bench, const BenchJudgement& judgement, ToolResult& result) {
  if (!judgement.baseline.empty()) compare_bench(bench, load_baseline(judgement.baseline), judgement, result);
}

void compare_bench(Json& bench, const Json& before, const BenchJudgement& judgement, ToolResult& result) {
  const double limit = judgement.max_slowdown_percent > 0 ? judgement.max_slowdown_percent : kToldPercent;
  Json compared = Json::array();
  std::vector<std::string> slower;
  TextTable table({{"against the baseline"},
                   {"before", TextTable::Align::kRight},
                   {"now", TextTable::Align::kRight},
                   {"change", TextTable::Align::kRight}});
  std::string markdown = "\n| against the baseline | before | now | change |\n| --- | ---: | ---: | ---: |\n";
  for (const Json& now : bench["contestants"]) {
    const Json* const old = same_contestant(before, now);
    if (old == nullptr) continue;
    for (const auto& [pass, words] : {std::pair{"first", "first epoch"}, std::pair{"later", "later epochs"}}) {
      if (!now[pass].is_object() || !(*old)[pass].is_object()) continue;
      const auto rate = now[pass]["samples_per_second"].get<double>();
      const auto old_rate = (*old)[pass]["samples_per_second"].get<double>();
      if (!(old_rate > 0)) continue;
      const double percent = (rate / old_rate - 1) * 100;
      std::string name = fmt::format("{}, {}", now.value("title", now["name"].get<std::string>()), words);
      if (now.value("split", "train") == "validation") name += ", validation";
      name += fmt::format(", batch {}", now["batch_size"].get<std::uint64_t>());
      const bool is_slower = percent < -limit;
      std::vector<std::string> cells{name, rate_text(old_rate), rate_text(rate), fmt::format("{:+.1f} %", percent)};
      markdown += fmt::format("| {} |\n", fmt::join(cells, " | "));
      table.add(std::move(cells));
      compared.push_back({{"name", now["name"]},
                          {"split", now.value("split", "train")},
                          {"batch_size", now["batch_size"]},
                          {"epochs", pass},
                          {"before", old_rate},
                          {"now", rate},
                          {"change_percent", percent},
                          {"slower", is_slower}});
      if (is_slower) slower.push_back(fmt::format("{} ({:+.1f} %)", name, percent));
    }
  }
  const std::vector<std::string> other = differences(before, bench);
  result.text += '\n';
  for (const std::string& line : table.lines()) result.text += line + "\n";
  result.markdown += markdown;
  std::string verdict = slower.empty() ? fmt::format("nothing is slower by more than {:.3g} %.", limit)
                                       : fmt::format("{}.", fmt::join(slower, "; "));
  if (compared.empty()) verdict = "the baseline measured nothing that was measured now (name, batch size, split).";
  const char* const label = slower.empty() ? "BASELINE" : "SLOWER";
  result.text += "\n" + paragraph(label, 10, verdict);
  result.markdown += fmt::format("\n{}: {}\n", slower.empty() ? "Baseline" : "Slower", verdict);
  if (!other.empty()) {
    const std::string mind = fmt::format("the baseline is of {}.", fmt::join(other, " and "));
    result.text += paragraph("MIND", 10, mind);
    result.markdown += fmt::format("\nMind: {}\n", mind);
  }
  bench["baseline"] = {{"file", judgement.baseline},
                       {"max_slowdown_percent", limit},
                       {"differs", other},
                       {"compared", std::move(compared)},
                       {"slower", slower}};
  if (judgement.max_slowdown_percent > 0 && !slower.empty()) result.findings = true;
}

}  // namespace headrace
