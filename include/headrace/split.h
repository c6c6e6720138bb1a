// split(): one data set into several that share no row.
#pragma once

#include <headrace/dataset.h>

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
  std::string stratify = {};
  /// What is kept together. "row": nothing, each sample is drawn by itself; refused for samples that overlap, of which
  /// parts would share rows; `stratify` goes with it alone. "file": whole files. "run": samples that follow each other:
  /// every part is one run of them, around a circle that the seed turns; those at the end of a run that reach into the
  /// next part are left out. The number of an axis that counts samples: those of one place along the axes up to it (0:
  /// whole recordings). Else a field: samples with an equal value, wherever they lie. "auto": "run" where samples
  /// overlap, else "row".
  std::string by = "auto";
  /// May be empty. If reading that field takes long, it is called by the calling thread about twenty times a second;
  /// when it returns false, split() ends with kCancelled.
  std::function<bool()> go_on = {};
  std::vector<std::string> names = {};  ///< Names of the parts, for run files; empty: they go by their numbers.
};

/// Split `data` into parts at random; the same seed gives the same parts.
/// \param shares  Positive numbers, together at most 1. If they add up to less, the remaining rows are left out.
/// \return One data set for each share. Shares of samples are exact to one; of files and groups, as near as whole ones
/// allow; of runs, but for the samples that are left out.
/// Blocks: only where a field is read, of `stratify` or `by`.
/// Errors: kInvalidArgument if shares are not positive or too large, or if a part would be empty; kUnsupported for
/// files of samples that go on from file to file.
std::vector<Dataset> split(const Dataset& data, std::span<const double> shares, const SplitOptions& options = {});

}  // namespace headrace
