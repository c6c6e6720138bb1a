// GroupTotals: what the rows of each group add up to: counts, votes, sums, maxima, the largest values.
//
// For evaluating whole recordings, events or documents from predictions that come a batch of rows at a time. A group
// may come in several batches, in any order. Totals of several processes can be added up.
#pragma once

#include <headrace/error.h>

#include <cstdint>
#include <span>

namespace headrace {

/// The totals of groups 0 to `groups` - 1, in the caller's memory; what has no memory (an empty span) is not kept.
struct GroupTotals {
  std::uint64_t groups = 0;       ///< Number of groups.
  std::uint64_t classes = 1;      ///< Values a row has.
  std::uint64_t top = 0;          ///< Largest values that are kept of each class.
  std::span<std::int64_t> count;  ///< Number of rows, (groups); begin with 0.
  std::span<std::int64_t> nan;    ///< Number of rows with a NaN, (groups); begin with 0.
  /// Rows whose largest value is that of the class, (groups, classes); begin with 0. Rows with a NaN do not vote.
  std::span<std::int64_t> votes;
  std::span<double> sum;   ///< Sum of the values, (groups, classes); begin with 0.
  std::span<double> max;   ///< The largest value, (groups, classes); begin with minus infinity.
  std::span<double> tops;  ///< The largest values, falling, (groups, classes, top); begin with minus infinity.
};

/// Add rows. Of several largest values of a row the first gets its vote. In maxima NaN is larger than any number, and
/// stays.
/// Sums are added row by row, in double precision: the same batches in the same order give the same bits.
/// \param group  Of each row; a row of -1 counts for nothing: "_group" has it for samples that fill up a step.
/// \param values  Of shape (rows, classes).
/// Throws kInvalidArgument if sizes do not agree or a group is not there; nothing is added then.
void add_rows(const GroupTotals& totals, std::span<const std::int64_t> group, std::span<const float> values);
void add_rows(const GroupTotals& totals, std::span<const std::int64_t> group, std::span<const double> values);

/// Add rows that say their class: only `count` and `votes` get something.
/// \param label  Class of each row. Throws kInvalidArgument if a class or a group is not there; nothing is added then.
void add_votes(const GroupTotals& totals, std::span<const std::int64_t> group, std::span<const std::int64_t> label);

}  // namespace headrace
