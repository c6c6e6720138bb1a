// Data sets beside the rows of samples: keys, offsets, tables, targets; which files they are of, and their fields.
#pragma once

#include <headrace/dataset.h>

#include <optional>
#include <string>
#include <vector>

#include "dataset/opening/open_rows.h"

namespace headrace {

inline constexpr ListsRefused kOneTarget{"has a list for each sample, and targets one value",
                                         "Name it among the fields."};

/// What is opened beside the rows: files, as open() takes them, and fields.
struct PartOfSamples {
  std::vector<std::string> paths;
  OpenOptions options;
};

/// Return what FILES of a "FILES::PATH" stands for.
std::vector<std::string> files_meant(const OpenOptions& options, const std::string& files);
/// Return the files that all fields are of, "FILES::PATH" each; nullopt: there are none.
std::optional<std::string> others_of(const std::vector<FieldChoice>& fields);
/// Return fields with one row for each sample: of their own files where all are of the same others. \param files  Of
/// the samples.
PartOfSamples targets_at(const std::vector<std::string>& files, const OpenOptions& options,
                         const std::vector<FieldChoice>& fields);
/// Return the field that a path names, of the samples' files or of those before "::".
PartOfSamples field_at(const std::vector<std::string>& files, const OpenOptions& options, const std::string& path);

/// Open OpenOptions::targets. \return  Nullopt: there are none. Throws what open() throws; where they are of several
/// places that do not fit together, the error says which.
std::optional<Dataset> open_targets(const std::vector<std::string>& files, const OpenOptions& options);
/// Return the same, of these files.
Dataset open_targets_at(const PartOfSamples& part, const OpenOptions& options);

}  // namespace headrace
