// The part of a plan that divides the budget: threads' scratch, the window, what is kept.
#pragma once

#include "loader/plan/engine_plan.h"

namespace headrace {

constexpr std::uint64_t kResidentShare = 8;     // side fields may take an eighth of the budget
constexpr std::uint64_t kReadAheadBatches = 8;  // ready batches that smooth an uneven consumer
constexpr double kCodedSlack = 1.12;            // blocks do not all encode like those that were tried

/// Plan all else within plan.budget_bytes, after the order, whatever the samples are. Errors: kOutOfBudget with the
/// smallest budget that would do; kInvalidArgument.
Status plan_memory(const SampleSource& source, const LoaderOptions& options, const PlanContext& context,
                   EnginePlan& plan);

}  // namespace headrace
