// Where the samples of a table begin and end: all of its rows in runs, some of which are no samples.
#pragma once

#include <headrace/dataset.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "catalog/row_set.h"

namespace headrace {

/// Rows that belong to no sample are runs as well, so that the runs have all rows.
struct SpanList {
  std::shared_ptr<const std::vector<std::uint64_t>> starts;  ///< First row of each run, and at last all rows.
  std::vector<std::uint64_t> file_ends;                      ///< Runs up to the end of each file.
  std::shared_ptr<const RowSet> named;                       ///< Runs that are samples; null: all.
  std::string notice = {};                                   ///< What should be known of them; empty: nothing.
  bool is_array_each = false;                                ///< Each sample has arrays of its own in its file.
  bool are_rows = false;  ///< Their file counts samples, as rows or arrays: a sample's place is its number there.
  [[nodiscard]] std::uint64_t num_samples() const { return named ? named->size() : starts->size() - 1; }
  /// Return the samples in the first `runs` runs.
  [[nodiscard]] std::uint64_t samples_before(std::uint64_t runs) const {
    return named ? named->count_below(runs) : runs;
  }
};

/// Read an array of each file: the row of that file where each sample begins, and at last the end of the last one.
/// \param offsets  A data set of one field, of the files of `data`. \param go_on  May be empty; false ends with
/// kCancelled. Errors: kInvalidArgument: it holds no whole numbers; kCorruptData, which names the file: they fall, or
/// leave it.
SpanList read_offsets(const Dataset& data, const Dataset& offsets, const std::function<bool()>& go_on);

/// Return the same of rows counted through all files. Errors: kInvalidArgument: they fall, leave the files, or a sample
/// would have rows of two.
SpanList divide_offsets(const Dataset& data, const std::vector<std::uint64_t>& offsets);

/// Return the list of several data sets' samples, whose rows follow each other.
SpanList join_spans(std::span<const SpanList* const> lists);

}  // namespace headrace
