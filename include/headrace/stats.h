// stats(): mean, spread and range of a field, feature by feature, for standardising it.
#pragma once

#include <headrace/dataset.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace headrace {

/// Options of stats().
struct StatsOptions {
  /// Which values are taken, for example "x[..., 0] != 0 and x[..., 3] < 5": comparisons of the field with numbers,
  /// joined with "and", "or" and parentheses. "x[..., k]" is entry k of the last axis, and decides for all entries
  /// beside it; "x" is every value for itself. Numbers are rounded to the field's type first. If empty, every value is
  /// taken. It is read as such an expression and as nothing else: it cannot run anything.
  std::string where;
  /// May be empty. It is called by the calling thread about once a block; when it returns false, stats() ends with
  /// kCancelled.
  std::function<bool()> go_on = {};
  int threads = 0;  ///< 0: one for each CPU. The result is the same for any number, to the last bit.
  /// False: neither look for what an earlier call found, nor keep the result.
  bool remember = true;
};

/// What stats() found, one number for each feature: each entry of the field's last axis, over all samples and all other
/// axes. A field without axes is one feature, and so is an array of patches: every voxel that some patch has counts
/// once, and every voxel of the volumes where patches are drawn anew in each epoch.
struct Stats {
  std::vector<double> mean;          ///< Arithmetic mean.
  std::vector<double> std;           ///< Standard deviation of all values (divided by their number, not by one less).
  std::vector<double> min;           ///< Least value.
  std::vector<double> max;           ///< Largest value.
  std::vector<std::uint64_t> count;  ///< Values that were taken.
  std::vector<std::uint64_t> nan_count;  ///< NaNs where a value would have been taken; they count for nothing else.
  std::vector<std::uint64_t> inf_count;  ///< Infinities; likewise.
  bool remembered = false;               ///< True if an earlier call had found it, and nothing was read.
};

/// Read a field once and sum it up, in double precision, block by block on several threads. The result is kept in the
/// user's cache directory (HEADRACE_CACHE; not if that is off) and found again at once by later calls, as long as no
/// file has changed.
/// Threads: any. Blocks: until the field is read.
/// Throws: kFieldMissing; kUnsupported  the field is not of real numbers, or the data set is a mixture or transformed;
/// kInvalidArgument  `where` makes no sense, or takes no finite value of some feature; kOutOfBudget; what reading
/// throws.
Stats stats(const Dataset& data, const std::string& field, const StatsOptions& options = {});

}  // namespace headrace
