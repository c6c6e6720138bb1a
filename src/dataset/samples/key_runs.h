// Runs of rows with equal keys: the samples of a table that says for each row which event it belongs to, and groups.
#pragma once

#include <headrace/dataset.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace headrace {

/// Consecutive runs of all rows.
struct KeyRuns {
  std::vector<std::uint64_t> starts;     ///< First row of each run, counted through the files, and at last all rows.
  std::vector<std::uint64_t> file_ends;  ///< Runs up to the end of each file.
  std::vector<std::string> notices;  ///< Keys of which there is more than one run, and nothing tells if they should.
};

/// What is done with a key that comes back after others in its file.
enum class ReturningKey : std::uint8_t { kRefused, kNoticed };

/// Rows of a file, one after the other in the data set.
struct FileRows {
  std::string path;
  std::uint64_t rows = 0;
};

struct KeyRunOptions {
  std::string what = "sample";  ///< What a run is, for messages.
  ReturningKey returning = ReturningKey::kRefused;
  /// Which value of a row is the key, where it has several.
  std::optional<std::uint64_t> column = {};
  /// The key of each run, as tables of runs have it: data sets of one field. One of another number of rows, or of text
  /// beside numbers, is not compared.
  std::vector<const Dataset*> expected = {};
  /// May be empty; false ends with kCancelled.
  std::function<bool()> go_on = {};
};

/// Find the runs of equal keys; a run ends with its file, which is noticed where the next file begins with the same
/// key. Reads the whole column. \param key  A data set of one field. \param files  Those of its rows. Errors:
/// kInvalidArgument: no whole numbers and no text, no such column, or another key than is expected, with the first
/// place; kCorruptData, which names file and rows: NaN or no whole number, or, where it is refused, a key that comes
/// back.
KeyRuns find_key_runs(const Dataset& key, const std::vector<FileRows>& files, const KeyRunOptions& options);

}  // namespace headrace
