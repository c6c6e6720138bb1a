// The plan that a loader would make, under any budget and without holding anything: what advice is made from.
#pragma once

#include <headrace/loader.h>

#include "loader/plan/engine_plan.h"

namespace headrace {

/// As if the process were allowed `budget_bytes`, whatever its own limit is. Errors: as Loader's.
Result<EnginePlan> plan_for(const Dataset& dataset, const LoaderOptions& options, std::uint64_t budget_bytes);

/// Return the same if nothing were kept between epochs: the window alone.
Result<EnginePlan> window_plan_for(const Dataset& dataset, LoaderOptions options, std::uint64_t budget_bytes);

/// Return the least budget under which there is a plan; 0 if there is none for other reasons.
std::uint64_t smallest_budget(const Dataset& dataset, const LoaderOptions& options);

/// Return the bytes that a plan of window_plan_for() leaves for keeping rows.
std::uint64_t cache_rest_bytes(const EnginePlan& plan);
/// Return the slots that will do where batches come from memory.
std::uint64_t direct_window_slots(const EnginePlan& plan);
/// As cache_rest_bytes(), if the window were that short.
std::uint64_t cache_room_bytes(const EnginePlan& plan);

}  // namespace headrace
