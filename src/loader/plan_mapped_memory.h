// As plan_memory(), for samples that are not simply rows: the window is an arena, counted in bytes.
#pragma once

#include "loader/engine_plan.h"

namespace headrace {

/// Plan all else within plan.budget_bytes, after the order. Nothing is kept between epochs.
/// Errors: kOutOfBudget with the smallest budget that would do; kInvalidArgument where a cache was asked for.
Status plan_mapped_memory(const MappedSource& mapped, const LoaderOptions& options, const PlanContext& context,
                          EnginePlan& plan);

}  // namespace headrace
