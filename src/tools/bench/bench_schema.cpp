#include "tools/bench/bench_schema.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <utility>

namespace headrace {
namespace {

constexpr double kLargest = 1e15;  // of rates, seconds and counts: whole numbers up to it are exact as doubles

Error not_the_schema(const std::string& what) {
  return Error(ErrorCode::kInvalidArgument, fmt::format("these are no measurements of headrace bench: {}", what))
      .with_hint(fmt::format("Files that `headrace bench --json` or --save wrote begin with \"schema\": \"{}\".",
                             kBenchSchema));
}

enum class Kind : std::uint8_t { kText, kTruth, kWhole, kNumber /* or null */, kObject, kList };

bool is_of(Kind kind, const Json& value) {
  switch (kind) {
    case Kind::kText:
      return value.is_string();
    case Kind::kTruth:
      return value.is_boolean();
    case Kind::kWhole:
      return value.is_number_integer() && value.get<double>() >= 0 && value.get<double>() <= kLargest;
    case Kind::kNumber:
      return value.is_null() || (value.is_number() && value.get<double>() >= 0 && value.get<double>() <= kLargest);
    case Kind::kObject:
      return value.is_object();
    case Kind::kList:
      return value.is_array();
  }
  return false;
}

using Members = std::initializer_list<std::pair<const char*, Kind>>;

/// Check those members that an object has.
Status check_members(const Json& object, const char* what, const Members& members) {
  if (!object.is_object()) return not_the_schema(fmt::format("{} is no object", what));
  for (const auto& [key, kind] : members)
    if (const auto found = object.find(key); found != object.end() && !is_of(kind, *found))
      return not_the_schema(fmt::format("\"{}\" of {} is {}", key, what, found->dump().substr(0, 60)));
  return {};
}

Status check_pass(const Json& round, const char* pass) {
  const auto found = round.find(pass);
  if (found == round.end() || found->is_null()) return {};
  HEADRACE_TRY(
      check_members(*found, "a pass", {{"samples_per_second", Kind::kNumber}, {"first_batch_seconds", Kind::kNumber}}));
  const auto batch = found->find("batch_ms");
  if (batch == found->end() || batch->is_null()) return {};  // of a pass of one batch
  return check_members(*batch, "batch_ms", {{"mean", Kind::kNumber}, {"p99", Kind::kNumber}});
}

Status check_contestant(const Json& contestant) {
  constexpr const char* what = "a contestant";
  HEADRACE_TRY(check_members(contestant, what,
                             {{"name", Kind::kText},
                              {"title", Kind::kText},
                              {"split", Kind::kText},
                              {"batch_size", Kind::kWhole},
                              {"samples", Kind::kNumber},
                              {"rounds", Kind::kList}}));
  for (const char* const key : {"name", "batch_size", "rounds"})
    if (!contestant.contains(key)) return not_the_schema("a contestant lacks its name, batch_size or rounds");
  for (const Json& round : contestant["rounds"]) {
    HEADRACE_TRY(check_members(round, "a round", {}));
    for (const char* const pass : {"first", "later"}) HEADRACE_TRY(check_pass(round, pass));
  }
  const auto tried = contestant.find("workers_tried");
  if (tried == contestant.end() || !tried->is_object()) return {};
  for (const auto& [workers, rate] : tried->items())
    HEADRACE_TRY(check_members(*tried, "workers_tried", {{workers.c_str(), Kind::kNumber}}));
  return {};
}

}  // namespace

Status check_bench(const Json& measured) {
  if (!measured.is_object()) return not_the_schema("a JSON object is expected");
  const auto schema = measured.find("schema");
  if (schema == measured.end() || *schema != kBenchSchema)
    return not_the_schema(fmt::format("\"schema\" is {}", schema == measured.end() ? "missing" : dump(*schema)));
  if (const auto listed = measured.find("contestants"); listed == measured.end() || !listed->is_array())
    return not_the_schema("\"contestants\" is missing");
  HEADRACE_TRY(check_members(measured, "the measurements",
                             {{"samples", Kind::kWhole},
                              {"sample_bytes", Kind::kWhole},
                              {"stopped_by_time", Kind::kTruth},
                              {"machine", Kind::kObject},
                              {"page_cache", Kind::kObject},
                              {"skipped", Kind::kList}}));
  if (measured.contains("machine"))
    HEADRACE_TRY(check_members(
        measured["machine"], "the machine",
        {{"cpu", Kind::kText}, {"cores", Kind::kWhole}, {"memory_bytes", Kind::kWhole}, {"system", Kind::kText}}));
  if (measured.contains("page_cache"))
    HEADRACE_TRY(check_members(measured["page_cache"], "the page cache",
                               {{"files", Kind::kWhole}, {"bytes", Kind::kWhole}, {"resident_share", Kind::kNumber}}));
  if (measured.contains("skipped"))
    for (const Json& one : measured["skipped"])
      HEADRACE_TRY(check_members(one, "what was skipped", {{"name", Kind::kText}, {"reason", Kind::kText}}));
  for (const Json& contestant : measured["contestants"]) HEADRACE_TRY(check_contestant(contestant));
  return {};
}

}  // namespace headrace
