// From the arrays of a file and the user's wishes to fields.
#pragma once

#include <headrace/loader/dataset.h>

#include <string>
#include <vector>

#include "assembly/source.h"
#include "base/result.h"
#include "catalog/stored_column.h"
#include "format/format_reader.h"

namespace headrace {

/// Columns and the arrays they come from.
struct FieldPlan {
  std::vector<StoredColumn> columns;
  std::vector<Source::Place> places;     ///< One for each column.
  std::vector<std::string> array_paths;  ///< Arrays to open, in the order Place::array counts.
};

/// Resolve `choices` against one file; empty choices mean every array with the common number of rows in the root, or in
/// the only group.
/// Errors: kFieldMissing (lists what there is, nearest first), kInvalidArgument for clashing names or arrays of several
/// lengths (lists them), kUnsupported for an array that cannot be read.
Result<FieldPlan> plan_fields(const FormatReader& file, const std::vector<FieldChoice>& choices);

}  // namespace headrace
