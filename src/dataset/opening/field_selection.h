// From the arrays of a file and the user's wishes to fields.
#pragma once

#include <headrace/dataset.h>

#include <string>
#include <vector>

#include "assembly/source.h"
#include "base/result.h"
#include "catalog/stored_column.h"
#include "dataset/files/file_lists.h"

namespace headrace {

/// Columns and the arrays they come from.
struct FieldPlan {
  std::vector<StoredColumn> columns;
  struct Array {
    std::uint32_t list;  ///< Number in FileLists; 0: in the data set's own files.
    std::string path;
    bool broadcast = false;  ///< Many samples share a row.
    std::uint32_t axes = 1;  ///< How many of its first axes are axes of the samples.
    bool filled = false;     ///< Rows without a value are filled: ArrayReader::filled().
    bool is_list = false;    ///< Its rows are the values of lists: ArrayInfo::list.
    friend bool operator==(const Array&, const Array&) = default;
  };
  std::vector<Source::ColumnPlace> places;  ///< One for each column.
  std::vector<LeftOut> left_out;            ///< Where no fields were chosen, and of records that were chosen whole.
  std::vector<Array> arrays;                ///< Arrays to open, in the order ColumnPlace::array counts.
};

/// Return whether fields of a plan are lists: each row of the file is a sample then.
bool has_lists(const FieldPlan& plan);

/// Resolve `options` against the first file of each list, and add the lists that "FILES::PATH" names; no fields
/// mean every array with the common number of rows in the root, or in the only group, of the data set's own files; what
/// that leaves out is named with the reason. The common number is the one that all arrays have, or more than half of
/// them where the others have fewer rows.
/// Errors: kFieldMissing (lists what there is, nearest first), kInvalidArgument for clashing names or arrays of several
/// lengths (lists them), or if no field comes from the data set's own files, kUnsupported for an array that cannot be
/// read; those of FileLists::add().
Result<FieldPlan> plan_fields(FileLists& lists, const OpenOptions& options);

}  // namespace headrace
