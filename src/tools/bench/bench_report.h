// From what was measured to what is shown: medians over rounds, table, Markdown; the picture is bench_picture.h.
#pragma once

#include <headrace/tools.h>

#include <optional>
#include <string>

#include "tools/bench/bench_schema.h"
#include "tools/json.h"

namespace headrace {

/// Check the schema, and give each contestant its medians: "first" and "later" (null: not measured), "epoch_seconds",
/// and "headrace_is", by what factor Headrace is faster: the medians that are shown, divided.
/// Errors: kInvalidArgument.
Status summarise_bench(Json& measured);
/// Parse measurements and summarise them. Errors: kInvalidArgument.
Result<Json> parse_bench(const std::string& text);
/// Return the table for people, of what summarise_bench() has been through.
std::string bench_text(const Json& bench);
/// Return the same as a page of Markdown.
std::string bench_markdown(const Json& bench);
/// Return how it was measured, as sentences: rounds, order, page cache.
std::string bench_method_text(const Json& bench);
/// Return what was measured: "65,536 samples of 39.8 KiB, batches of 512".
std::string bench_data_text(const Json& bench);

/// Return the number at `key`; nullopt where there is none.
std::optional<double> number_at(const Json& json, const char* key);
/// Return "41,234", "412" or "3.21".
std::string rate_text(double samples_per_second);
/// Return "3.2 s", "12 min 30 s", "2 h 10 min".
std::string duration_text(double seconds);

}  // namespace headrace
