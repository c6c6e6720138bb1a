// Copying a box of elements out of a cell into a sample's box, and filling what lies outside the array.
#pragma once

#include <cstddef>
#include <cstdint>

#include "catalog/samples/cell_grid.h"

namespace headrace {

/// Addresses of the first and the last run that were copied: what the copy says it did.
struct BoxCopied {
  const std::byte *first_from = nullptr, *last_from = nullptr;
  std::byte *first_to = nullptr, *last_to = nullptr;
  std::uint64_t run_bytes = 0, bytes = 0;
};

/// Copy `overlap` from what was decoded or read of a cell (C order, grid.extents() elements along each axis) to a
/// sample's box (C order, `box` elements along each axis).
BoxCopied copy_box(const CellGrid& grid, const BoxOverlap& overlap, const std::byte* cell, const Axes& box,
                   std::byte* to);

/// Write `element`, of grid.element_bytes, to what a cell has to fill of a sample's box outside the array.
void fill_outside(const CellGrid& grid, const BoxOverlap& overlap, const std::byte* element, const Axes& box,
                  std::byte* to);

}  // namespace headrace
