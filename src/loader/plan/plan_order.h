// The part of a plan that says which samples come when: sampler, batches, ranks.
#pragma once

#include <cstdint>
#include <memory>

#include "loader/plan/engine_plan.h"

namespace headrace {

/// Fill in what says which samples come when: online, listed, sampler, steps, global_batch, share, tail, shape,
/// batch_rows, num_batches, and warnings. Errors: kInvalidArgument.
Status plan_order(const SampleSource& source, const LoaderOptions& options, const PlanContext& context,
                  EnginePlan& plan);

/// Return the steps of an order, cut as `plan` says; a list may have batches of its own.
std::shared_ptr<const StepPlan> make_steps(const EnginePlan& plan, std::shared_ptr<const Sampler> sampler,
                                           const std::shared_ptr<const ListedRows>& listed);

/// Return the steps of a token budget that a plan has, with that many lanes, in another order or the plan's own.
/// Errors: kInvalidArgument.
Result<std::shared_ptr<const BudgetSteps>> make_budget_steps(const EnginePlan& plan, const LoaderOptions& options,
                                                             std::shared_ptr<const Sampler> sampler,
                                                             std::uint32_t lanes);

/// Return the list that a sampler's options give; it shares their memory.
std::shared_ptr<ListedRows> listed_rows_of(const Order& order);

/// Check a list of row numbers for a data set of `rows` rows. Errors: kInvalidArgument: an empty list, a row that is
/// not there, an empty batch, or batches that together have another number of rows.
Status check_listed(const ListedRows::List& list, std::uint64_t rows);

}  // namespace headrace
