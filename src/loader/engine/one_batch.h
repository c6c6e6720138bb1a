// One batch of an epoch, straight from the plan.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "loader/plan/engine_plan.h"

namespace headrace {

/// What one rank's batch holds.
struct PlannedBatch {
  std::vector<std::uint64_t> rows;  ///< Rows of the data set, in batch order.
  std::vector<SampleRef> stored;    ///< The same, as stored rows of the plan's blocks.
  Step step;
};

/// Work out a batch of an epoch that begins at its first sample. \param rows_of_epoch  Of a list of rows that the plan
/// does not know for this epoch; else empty. \param batch_rows  Samples of each batch of those, if listed. Errors:
/// kInvalidArgument: no such step, or an order that cannot be worked out.
Result<PlannedBatch> plan_batch(const EnginePlan& plan, std::uint64_t epoch, std::uint64_t step,
                                std::span<const std::uint64_t> rows_of_epoch = {},
                                std::span<const std::uint64_t> batch_rows = {});

}  // namespace headrace
