// Medians over rounds, and what they are worth against each other.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text/read_json.h"
#include "tools/bench/bench_report.h"
#include "tools/bench/bench_schema.h"

namespace headrace {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

const Json* object_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_object() ? &*found : nullptr;
}

/// The values of one pass ("first" or "later") over the rounds; `inner` names an object in between, or is null.
std::vector<double> over_rounds(const Json& contestant, const char* pass, const char* inner, const char* key) {
  std::vector<double> values;
  for (const Json& round : contestant["rounds"]) {
    const Json* at = object_at(round, pass);
    if (at != nullptr && inner != nullptr) at = object_at(*at, inner);
    if (at == nullptr) continue;
    if (const std::optional<double> value = number_at(*at, key)) values.push_back(*value);
  }
  return values;
}

Json pass_summary(const Json& contestant, const char* pass) {
  const std::vector<double> rates = over_rounds(contestant, pass, nullptr, "samples_per_second");
  if (rates.empty()) return nullptr;
  const auto middle = [&](const char* inner, const char* key) -> Json {
    std::vector<double> values = over_rounds(contestant, pass, inner, key);
    return values.empty() ? Json(nullptr) : Json(median(std::move(values)));
  };
  return {{"samples_per_second", median(rates)},
          {"lowest", *std::min_element(rates.begin(), rates.end())},
          {"highest", *std::max_element(rates.begin(), rates.end())},
          {"rounds", rates.size()},
          {"batch_ms_mean", middle("batch_ms", "mean")},
          {"batch_ms_p99", middle("batch_ms", "p99")},
          {"first_batch_seconds", middle(nullptr, "first_batch_seconds")}};
}

/// How many times as fast the first is, by the medians that are shown; null where one of them is missing.
Json speed_up(const Json& ours, const Json& theirs, const char* pass) {
  const Json *mine = object_at(ours, pass), *other = object_at(theirs, pass);
  if (mine == nullptr || other == nullptr) return nullptr;
  const double rate = number_at(*other, "samples_per_second").value_or(0);
  return rate > 0 ? Json(number_at(*mine, "samples_per_second").value_or(0) / rate) : Json(nullptr);
}

bool same_work(const Json& a, const Json& b) {
  return a.value("split", "train") == b.value("split", "train") && a["batch_size"] == b["batch_size"];
}

}  // namespace

std::optional<double> number_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

Result<Json> parse_bench(const std::string& text) {
  auto bench = read_json<Json>(text);
  if (!bench.ok()) bench = Json();  // an object is expected, says the schema
  HEADRACE_TRY(summarise_bench(*bench));
  return bench;
}

Status summarise_bench(Json& measured) {
  HEADRACE_TRY(check_bench(measured));
  const auto listed = measured.find("contestants");
  for (Json& contestant : *listed) {
    const double samples = number_at(contestant, "samples").value_or(0);
    Json epoch_seconds;
    for (const char* pass : {"first", "later"}) {
      contestant[pass] = pass_summary(contestant, pass);
      const double rate = contestant[pass].is_null() ? 0 : contestant[pass]["samples_per_second"].get<double>();
      epoch_seconds[pass] = rate > 0 && samples > 0 ? Json(samples / rate) : Json(nullptr);
    }
    contestant["epoch_seconds"] = std::move(epoch_seconds);
  }
  for (Json& theirs : *listed) {
    theirs.erase("headrace_is");  // of other medians, in what was summarised before
    const auto ours = std::find_if(listed->begin(), listed->end(),
                                   [&](const Json& c) { return c["name"] == "headrace" && same_work(c, theirs); });
    if (theirs["name"] == "headrace" || ours == listed->end()) continue;
    theirs["headrace_is"] = {{"first", speed_up(*ours, theirs, "first")}, {"later", speed_up(*ours, theirs, "later")}};
  }
  return {};
}

}  // namespace headrace
