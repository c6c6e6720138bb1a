// One file of a data set and those beside it, opened as the fields' plan says.
#pragma once

#include <cstddef>

#include "assembly/source.h"
#include "base/result.h"
#include "dataset/field_selection.h"
#include "dataset/file_lists.h"

namespace headrace {

/// Open the arrays of `plan` in file number `file` of each list, and compare them with the fields of the first file.
/// Errors: those of opening; kInvalidArgument  arrays of several lengths, or fields that are not those of the first
/// file.
Result<SourceFile> open_source_file(FileLists& lists, std::size_t file, const FieldPlan& plan);

}  // namespace headrace
