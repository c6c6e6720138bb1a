// How an array of a volume is cut into what decodes at once.
#pragma once

#include "base/result.h"
#include "catalog/samples/cell_grid.h"
#include "format/format_reader.h"

namespace headrace {

/// Return the grid of an array's chunks; of one without chunks rows that decode together, or nothing but places, where
/// any box of it can be read by itself. \param box  Shape of the boxes that are wanted. Errors: those of locate().
Result<CellGrid> volume_grid(const ArrayReader& array, const Axes& box);

}  // namespace headrace
