// The schema "headrace-bench/1": what every reader of measurements relies on.
#pragma once

#include <string>

#include "tools/json.h"

namespace headrace {

constexpr const char* kBenchSchema = "headrace-bench/1";

/// Check what a report or a comparison reads of measurements: keys that must be there, and the kinds and sizes of
/// values. Keys of the medians are not looked at: they are computed. Errors: kInvalidArgument.
Status check_bench(const Json& measured);

}  // namespace headrace
