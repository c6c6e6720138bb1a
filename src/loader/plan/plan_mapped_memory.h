// As plan_memory(), for windows, spans, lists and patches: the batches share an arena, counted in bytes.
#pragma once

#include "loader/plan/engine_plan.h"

namespace headrace {

/// Plan all else within plan.budget_bytes, after the order. Units of rows are kept decoded in the rest of the budget;
/// cells of volumes are not.
/// Errors: kOutOfBudget with the smallest budget that would do.
Status plan_mapped_memory(const MappedSource& mapped, const LoaderOptions& options, const PlanContext& context,
                          EnginePlan& plan);

}  // namespace headrace
