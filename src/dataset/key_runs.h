// Runs of rows with equal keys: the samples of a table that says for each row which event it belongs to.
#pragma once

#include <headrace/dataset/dataset.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace headrace {

/// Consecutive runs of all rows.
struct KeyRuns {
  std::vector<std::uint64_t> starts;     ///< First row of each run, counted through the files, and at last all rows.
  std::vector<std::uint64_t> file_ends;  ///< Runs up to the end of each file.
};

/// Find the runs of equal keys; a run ends with its file. Reads the whole column. \param key  A data set of one field.
/// \param column  Which value of a row is the key, where it has several. \param go_on  May be empty; false ends with
/// kCancelled. Errors: kInvalidArgument: no whole numbers and no text, or no such column; kCorruptData, which names
/// file and rows: NaN or no whole number, or a key that comes back after others in its file.
KeyRuns find_key_runs(const Dataset& key, std::optional<std::uint64_t> column, const std::function<bool()>& go_on);

}  // namespace headrace
