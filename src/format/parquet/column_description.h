// What the catalog says of a column.
#pragma once

#include <cstdint>
#include <vector>

#include "catalog/array_info.h"
#include "format/parquet/open_parquet.h"

namespace headrace::parquet {

/// Return what the catalog says of a column, from the footer alone. Lists: the footer does not say how many elements
/// they have, so that rows and chunk_ends count empty lists too: there are at most as many elements.
ArrayInfo describe_column(const OpenParquet& opened, const LeafColumn& column);

/// Let chunks have the rows that `ends` says: those up to the end of each row group.
void set_rows(ArrayInfo& info, std::vector<std::uint64_t> ends);

}  // namespace headrace::parquet
