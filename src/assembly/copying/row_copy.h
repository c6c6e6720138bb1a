// Moving one row from a decoded piece to its place in a batch.
#pragma once

#include <cstddef>

#include "base/memory/stream_copy.h"
#include "catalog/row_geometry.h"

namespace headrace {

/// Copy one row. `to` is the row's first byte in the batch, `from` the row's first byte in the piece.
void copy_row(const RowGeometry& geometry, std::byte* to, const std::byte* from);

}  // namespace headrace
