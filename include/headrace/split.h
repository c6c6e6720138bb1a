// split(): one data set into several that share no row.
#pragma once

#include <headrace/dataset.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace headrace {

/// What is kept together.
enum class SplitBy : std::uint8_t {
  kAuto,  ///< kRun where samples overlap, else kRow.
  kRow,   ///< Nothing: each sample is drawn by itself. Refused for samples that overlap: parts would share rows.
  kFile,  ///< Whole files, so that what belongs together (a run, an event, a patient) is never in two parts.
  /// Samples that follow each other: every part is one run of them, around a circle that the seed turns. Those at the
  /// end of a run that reach into the next part are left out.
  kRun,
};

/// Options of split().
struct SplitOptions {
  std::uint64_t seed = 0;  ///< Another seed gives another split.
  /// Field with the class of each sample: every part gets its share of each class, to within one row. If empty, classes
  /// are not considered.
  std::string stratify = {};
  SplitBy by = SplitBy::kAuto;  ///< What is kept together; `stratify` goes with kRow alone.
  /// May be empty. If reading that field takes long, it is called by the calling thread about twenty times a second;
  /// when it returns false, split() ends with kCancelled.
  std::function<bool()> go_on = {};
  std::vector<std::string> names = {};  ///< Names of the parts, for run files; empty: they go by their numbers.
};

/// Split `data` into parts at random; the same seed gives the same parts.
/// \param shares  Positive numbers, together at most 1. If they add up to less, the remaining rows are left out.
/// \return One data set for each share. Shares of samples are exact to one; of files, as near as whole files allow; of
/// runs, but for the samples that are left out.
/// Blocks: only with `stratify`, because that field is read.
/// Errors: kInvalidArgument if shares are not positive or too large, or if a part would be empty; kUnsupported for
/// files of samples that go on from file to file.
std::vector<Dataset> split(const Dataset& data, std::span<const double> shares, const SplitOptions& options = {});

}  // namespace headrace
