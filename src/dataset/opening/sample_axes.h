// Which axes of the arrays are axes of the samples, and the arrays with these axes as one.
#pragma once

#include <headrace/dataset.h>

#include <memory>

#include "assembly/source.h"
#include "base/result.h"
#include "dataset/files/file_lists.h"
#include "dataset/opening/field_selection.h"

namespace headrace {

/// Work out how many axes of each array of `plan` are axes of the samples, from the first file of each list, and take
/// them off the shapes of its columns.
/// Errors: kInvalidArgument  sample_axes of 0; an array that has fewer axes; a value that is not one for each sample,
/// or for each of some first axes.
Status plan_axes(FileLists& lists, const OpenOptions& options, FieldPlan& plan);

/// Make the axes of the arrays of a file one, and repeat what many samples share. \param file  With its arrays as they
/// are stored; `rows` and `axes` are filled in.
/// Errors: kInvalidArgument  arrays whose first axes differ; those of flatten().
Status merge_axes(SourceFile& file, const FieldPlan& plan);

/// Return which of the columns were chosen with which option: the axes of each broadcast one, 0 for other fields.
std::vector<std::uint32_t> broadcast_axes(const FieldPlan& plan);

}  // namespace headrace
