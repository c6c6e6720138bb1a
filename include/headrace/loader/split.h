// split(): one data set into several that share no row.
#pragma once

#include <headrace/loader/dataset.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headrace {

struct SplitOptions {
  std::uint64_t seed = 0;
  /// Field with a class a sample: every part gets its share of each class, to the row. Empty: rows at large.
  std::string stratify;
  /// Whole files only: rows of one file (one run, one event, one patient) are never in two parts. Excludes `stratify`.
  bool by_file = false;
};

/// Parts of `data` of these shares, chosen at random but the same for the same seed. \param shares  Positive, together
/// at most 1; what is missing to 1 is left out. \return One data set for each share. Shares of rows are exact to one
/// row; of files, as near as whole files allow. Blocks only with `stratify`: that field is read. Throws
/// kInvalidArgument: shares that are no shares, or a part that would be empty.
std::vector<Dataset> split(const Dataset& data, std::span<const double> shares, const SplitOptions& options = {});

}  // namespace headrace
