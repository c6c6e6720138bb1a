// Opening data sets whose samples are not rows.
#pragma once

#include <headrace/dataset/dataset.h>

#include <optional>
#include <string>
#include <vector>

namespace headrace {

/// Open what OpenOptions::sample_by says, or files with arrays for each sample. \return  Nullopt: samples are rows.
/// Throws what open() and spans() throw.
std::optional<Dataset> open_samples(const std::vector<std::string>& paths, const OpenOptions& options);

/// Open OpenOptions::targets as a data set: of their own files where all are of the same others. \return  Nullopt:
/// there are none. Throws what open() throws.
std::optional<Dataset> open_targets(const std::vector<std::string>& paths, const OpenOptions& options);

}  // namespace headrace
