// The part of a plan that says which samples come when: sampler, batches, ranks.
#pragma once

#include <cstdint>
#include <span>

#include "loader/engine_plan.h"

namespace headrace {

/// Fill in what says which samples come when: fed, listed, sampler, steps, global_batch, share, tail, shape,
/// batch_rows, num_batches, and warnings. Errors: kInvalidArgument.
Status plan_order(const Source& source, const LoaderOptions& options, const PlanContext& context, EnginePlan& plan);

/// Check a list of row numbers for a data set of `rows` rows. Errors: kInvalidArgument: an empty list, or a row that is
/// not there.
Status check_listed(std::span<const std::uint64_t> listed, std::uint64_t rows);

}  // namespace headrace
