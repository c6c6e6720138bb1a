// Rows of an array, read as the engine reads them: located, read, decoded in scratch of exactly the size asked for.
#pragma once

#include <cstddef>
#include <vector>

#include "format/format_reader.h"

namespace headrace::testing_format {

/// Bytes of a dense row of a column.
std::uint64_t row_bytes_of(const ArrayInfo& info, std::size_t column);

/// Copy one row of one column as its geometry says.
void copy_row(const RowGeometry& geometry, std::byte* to, const std::byte* from);

/// Return dense rows of a column. Every buffer is followed by guard bytes: kInternal if one of them was written.
Result<std::vector<std::byte>> read_rows(const ArrayReader& array, RowRange rows, std::size_t column = 0);

}  // namespace headrace::testing_format
