// Spans told by a table with a row for each sample: the file its rows are in, the first and the last of them.
#pragma once

#include <headrace/dataset.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dataset/samples/span_list.h"

namespace headrace {

/// Spans, in the order of their rows, and where the table has them.
struct MetaSpans {
  SpanList list;
  std::vector<std::uint64_t> meta_rows;  ///< Row of the table for each sample; empty: sample i has row i, of all rows.
  std::uint64_t rows_left_out = 0;       ///< Rows of the data that belong to no sample.
};

/// What the fields of the table mean.
struct MetaColumns {
  bool last = true;           ///< Its second field is the last row of a sample; false: the row behind it.
  std::string file_template;  ///< File name with {…} for the number that the third field has; empty: there is none.
};

/// Read a table of two or three fields of whole numbers: first row in its file, last or end, number of the file.
/// Without a template all rows are of one file, or the table has a file for each of the data's. \param go_on  May be
/// empty; false ends with kCancelled. Errors: kInvalidArgument: a field that holds no whole numbers, a template without
/// one {…}; kCorruptData, which names table and row: spans that leave their file, overlap, or are in a file that is not
/// there.
MetaSpans read_meta_spans(const Dataset& data, const Dataset& meta, const MetaColumns& columns,
                          const std::function<bool()>& go_on);

}  // namespace headrace
