// Rows of files whose columns are lists: each row is a sample, and has any number of their values.
#pragma once

#include <headrace/dataset.h>

#include <string>
#include <vector>

#include "dataset/opening/field_selection.h"

namespace headrace {

/// Open files as samples: lists as ragged fields, and behind them what has one value a row. \param plan  Of `options`.
/// Throws those of open(); kInvalidArgument where the lists of a row have different lengths; kUnsupported for lists of
/// other files, or beside sample_axes.
Dataset open_list_samples(const std::vector<std::string>& files, const OpenOptions& options, const FieldPlan& plan);

}  // namespace headrace
