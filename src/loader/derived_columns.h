// Columns of a batch that are made from the plan, not read: where its samples came from, and which of them are padding.
#pragma once

#include <headrace/catalog/field.h>

#include <memory>
#include <span>
#include <vector>

#include "assembly/source.h"
#include "delivery/batch_memory.h"
#include "loader/engine_plan.h"

namespace headrace {

/// Return the fields of a batch: the data's, then "_rows", "_weight", "_group" and "_group.offsets" where the plan has
/// them.
std::shared_ptr<const std::vector<Field>> batch_fields(const SampleSource& source, const EnginePlan& plan);

/// Return the memory of the derived columns, in the order of batch_fields().
/// \param samples  Stored rows of blocks; needed where the plan delivers "_rows". \param rows  Of the batch.
/// \param step  What the batch is of the epoch.
std::vector<DerivedColumn> derived_columns(const EnginePlan& plan, std::span<const SampleRef> samples,
                                           std::uint64_t rows, const Step& step, std::uint64_t epoch);

}  // namespace headrace
