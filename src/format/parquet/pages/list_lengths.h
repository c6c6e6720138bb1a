// The lengths of the lists of a file: read from the levels of one column, and shared by all columns of that list.
#pragma once

#include <memory>

#include "base/result.h"
#include "format/parquet/open_parquet.h"
#include "format/parquet/pages/page_walk.h"

namespace headrace::parquet {

/// Return the lists of a column: those that the file's other columns of that list have found, or else by the levels of
/// the smallest of these columns, for which all its pages are read, about 1 MiB at a time. Pages of the second version
/// are not decompressed for it.
/// Errors: kCorruptData; kUnsupported  levels of the oldest encoding; kOutOfBudget; kFileChanged; those of reading.
/// With file, field, row group and page. Threads: any; two that ask at the same time may both read.
Result<std::shared_ptr<const ListLengths>> count_lists(const OpenParquet& opened, const LeafColumn& column);

/// Let a table that was walked in entries count elements, without the pages in which there are none.
/// \param lists  With as many entries as the table.
void to_elements(PageTable& table, const GroupLengths& lists);

}  // namespace headrace::parquet
