// Opening files whose rows are samples, or are made into samples by what opens them.
#pragma once

#include <headrace/dataset.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "dataset/files/file_lists.h"
#include "dataset/opening/field_selection.h"

namespace headrace {

/// Files, and which of their arrays are fields: what the first file of each list says.
struct FilePlan {
  FileLists lists;
  FieldPlan fields;
};
/// Look into the first files. \param files  As expand_paths() gives them. Errors: those of plan_fields().
Result<FilePlan> plan_files(const std::vector<std::string>& files, const OpenOptions& options);

/// Open all files of a plan, each once. Rows of lists are their values, one after the other. \param options  Those
/// that it was planned with. Errors: as headrace::open; kCancelled.
Result<Dataset> open_rows(FilePlan plan, const OpenOptions& options);

/// What is said of a field of lists where it has to have one value a row: behind its name, and what to do.
struct ListsRefused {
  const char* what;
  const char* hint;
};
/// Open what stands beside the samples of others: a key, offsets, a table, targets. \param paths  As open() takes them.
/// Errors: as headrace::open; kInvalidArgument for lists.
Result<Dataset> open_beside(const std::vector<std::string>& paths, const OpenOptions& options, ListsRefused lists);

}  // namespace headrace
