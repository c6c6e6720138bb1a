// The part of a plan that says which samples come when: sampler, batches, ranks.
#pragma once

#include "loader/engine_plan.h"

namespace headrace {

/// Of plan.layout: fed, sampler, steps, global_batch, share, tail, mix, batch_rows, num_batches, and warnings. Errors:
/// kInvalidArgument.
Status plan_order(const Source& source, const LoaderOptions& options, const PlanContext& context, EnginePlan& plan);

}  // namespace headrace
