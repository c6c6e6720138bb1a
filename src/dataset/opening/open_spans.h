// Opening samples that are spans of rows, as OpenOptions::sample_by says.
#pragma once

#include <headrace/dataset.h>

#include <string>
#include <vector>

namespace headrace {

/// Open the rows, what tells their spans, and targets; and make samples of them. \param files  As expand_paths() gives
/// them. Throws what open() and spans() throw.
Dataset open_spans(const std::vector<std::string>& files, const OpenOptions& options);

}  // namespace headrace
