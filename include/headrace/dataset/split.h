// split(): one data set into several that share no row.
#pragma once

#include <headrace/dataset/dataset.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace headrace {

/// Options of split().
struct SplitOptions {
  std::uint64_t seed = 0;  ///< Another seed gives another split.
  /// Field with the class of each sample: every part gets its share of each class, to within one row. If empty, classes
  /// are not considered.
  std::string stratify;
  /// True: split by whole files, so that rows of one file (a run, an event, a patient) are never in two parts. Cannot
  /// be combined with `stratify`.
  bool by_file = false;
  /// May be empty. If reading that field takes long, it is called by the calling thread about twenty times a second;
  /// when it returns false, split() ends with kCancelled.
  std::function<bool()> go_on = {};
};

/// Split `data` into parts at random; the same seed gives the same parts.
/// \param shares  Positive numbers, together at most 1. If they add up to less, the remaining rows are left out.
/// \return One data set for each share. Shares of rows are exact to one row; of files, as near as whole files allow.
/// Blocks: only with `stratify`, because that field is read.
/// Errors: kInvalidArgument if shares are not positive or too large, or if a part would be empty.
std::vector<Dataset> split(const Dataset& data, std::span<const double> shares, const SplitOptions& options = {});

}  // namespace headrace
