// windows(): runs of consecutive rows as samples, such as stretches of a token file or of a signal.
#pragma once

#include <headrace/dataset.h>

#include <cstdint>
#include <optional>

namespace headrace {

/// Which runs of rows are the samples of windows().
struct WindowOptions {
  std::uint64_t length = 0;  ///< Rows of a window, apart from `lookahead`. At least 1.
  /// Rows from the start of a window to the start of the next one, at least 1; default: `length`, so that each row is
  /// in one window, apart from `lookahead`.
  std::optional<std::uint64_t> stride = {};
  /// Rows that follow in each window: with 1, a window of a language model's tokens holds the targets too.
  std::uint64_t lookahead = 0;
  /// True: the rows of all files are one run, and windows may begin in one file and end in the next.
  bool across_files = false;
};

/// Return a data set whose samples are windows of the rows of `data`: fields of shape (length + lookahead, *row shape).
/// Rows at the end of a file that do not fill a window are left out. No I/O, and no list of windows.
/// Throws kInvalidArgument: no window fits, a length or stride of 0; kUnsupported: `data` has selected, mixed or
/// transformed rows, or other samples than rows.
Dataset windows(const Dataset& data, const WindowOptions& options);

}  // namespace headrace
