// Files with arrays for each sample: "data/demo_*/actions".
#pragma once

#include <headrace/dataset.h>

#include <string>
#include <vector>

namespace headrace {

/// Return true if a field's path has a "*".
bool has_numbered_arrays(const OpenOptions& options);

/// Open the arrays that the fields' paths stand for: a sample is the rows of those with one name in place of the "*",
/// file after file, in the natural order of the names. Throws what open() throws; kInvalidArgument: fields without a
/// "*" or with several, arrays of one sample that differ in rows; kFieldMissing, which names the sample: it has not all
/// fields; kUnsupported: other files' arrays.
Dataset open_numbered_arrays(const std::vector<std::string>& files, const OpenOptions& options);

}  // namespace headrace
