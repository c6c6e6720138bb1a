// spans(): runs of consecutive rows of any length as samples, such as the pulses of an event.
#pragma once

#include <headrace/dataset.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace headrace {

/// Which runs of rows are the samples of spans(). Exactly one of `key`, `offsets`, `offset_list` and `meta` is given.
struct SpanOptions {
  /// A data set of one field, of the same files and rows: samples are runs of equal values, which end with their file.
  std::optional<Dataset> key = {};
  /// Which value of a row of `key` is it, where a row has several.
  std::optional<std::uint64_t> key_column = {};
  /// A data set of one field of whole numbers, of the same files: in each file the row where each sample begins, and at
  /// last the end of the last one. Rows before the first are left out.
  std::optional<Dataset> offsets = {};
  /// The same as a list, with rows counted through all files; empty: it is not given. No sample has rows of two files.
  std::vector<std::uint64_t> offset_list = {};
  /// A table with a row for each sample, in any order: its fields are the first row in the sample's file, the last (or
  /// the row behind that), and the number of that file. Rows of files that are beside those of `data` are left out.
  std::optional<Dataset> meta = {};
  bool meta_has_last = true;       ///< The second field of `meta` is the last row; false: the row behind it.
  std::string file_template = {};  ///< With {…} for the number of the third field; empty: it has two fields.
  /// A data set with a row for each sample, of the same files or others; its fields follow. With `meta`, its row i
  /// belongs to the sample of that table's row i. Of as many files, each has
  /// the rows of the samples of one. With a row for each row, a sample's is that of its first row.
  std::optional<Dataset> targets = {};
  /// With `key`: data sets of one field, the key of each row of `targets`, which must be that of its sample. Several
  /// where targets come from several tables. Empty: they have none, and are taken as they stand.
  std::vector<Dataset> target_keys = {};
  /// May be empty. If reading the key takes long, it is called by the calling thread about twenty times a second; when
  /// it returns false, spans() ends with kCancelled.
  std::function<bool()> go_on = {};
};

/// Return a data set whose samples are spans of the rows of `data`: its fields are ragged, those of the targets are
/// not. Reads the key or the offsets whole. Throws kInvalidArgument: targets of another length or with other keys, a
/// key that is none; kCorruptData, which names file and rows: keys that come back, offsets that fall or lead out of the
/// file; kUnsupported: `data` has selected, mixed or transformed rows, or other samples than rows.
Dataset spans(const Dataset& data, const SpanOptions& options);

}  // namespace headrace
