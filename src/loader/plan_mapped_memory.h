// As plan_memory(), for samples that are not simply rows: the window is an arena, counted in bytes.
#pragma once

#include "loader/engine_plan.h"

namespace headrace {

/// Plan all else within plan.budget_bytes, after the order. Units of rows are kept decoded in what the window leaves;
/// cells of volumes are not.
/// Errors: kOutOfBudget with the smallest budget that would do.
Status plan_mapped_memory(const MappedSource& mapped, const LoaderOptions& options, const PlanContext& context,
                          EnginePlan& plan);

}  // namespace headrace
