// Columns of a batch that are made from the plan, not read: where its samples came from, and which of them are padding.
#pragma once

#include <headrace/catalog/field.h>

#include <memory>
#include <span>
#include <vector>

#include "assembly/source.h"
#include "loader/engine_plan.h"

namespace headrace {

/// Return the fields of a batch: the data's, then "_rows" and "_weight" where the plan has them.
std::shared_ptr<const std::vector<Field>> batch_fields(const Source& source, const EnginePlan& plan);

/// Return the memory of the derived columns, in the order of batch_fields().
/// \param samples  Stored rows of blocks; needed where the plan delivers "_rows". \param rows  Of the batch.
/// \param real_rows  Of them, those that are no padding; they come first.
std::vector<std::shared_ptr<void>> derived_columns(const EnginePlan& plan, std::span<const SampleRef> samples,
                                                   std::uint64_t rows, std::uint64_t real_rows);

}  // namespace headrace
