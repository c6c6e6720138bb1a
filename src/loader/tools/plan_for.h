// The plan that a loader would make, under any budget and without holding anything: what advice is made from.
#pragma once

#include <headrace/loader/loader.h>

#include "loader/engine_plan.h"

namespace headrace {

/// As if the process were allowed `budget_bytes`, whatever its own limit is. Errors: as Loader's.
Result<EnginePlan> plan_for(const Dataset& dataset, const LoaderOptions& options, std::uint64_t budget_bytes);

/// Least budget under which there is a plan; 0 if there is none for other reasons.
std::uint64_t smallest_budget(const Dataset& dataset, const LoaderOptions& options);

/// Bytes that the plan leaves for keeping decoded rows.
std::uint64_t cache_room_bytes(const EnginePlan& plan);

}  // namespace headrace
