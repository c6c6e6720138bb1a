// CellGrid: an array cut into cells that decode together, and what of a cell lies in a box.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace headrace {

inline constexpr std::size_t kMostVolumeAxes = 5;
using Axes = std::array<std::uint64_t, kMostVolumeAxes>;   ///< Entries behind the rank are 1 for shapes, 0 for places.
using Places = std::array<std::int64_t, kMostVolumeAxes>;  ///< Where a box begins, which may be before its array does.

/// An array cut into cells of one shape, C order; cells at its end reach past it.
struct CellGrid {
  /// What a cell is.
  enum class Cells : std::uint8_t {
    kChunks,  ///< A chunk of the array.
    kRows,    ///< Some rows, whole, of an array that has no grid of chunks.
    kPlain,   ///< Nothing: any box can be read by itself. It is filed whole, under the cell where it begins.
  };
  std::size_t rank = 3;
  Axes shape{};  ///< Elements.
  Axes cell{};   ///< Elements of a cell.
  std::uint64_t element_bytes = 1;
  Cells cells = Cells::kChunks;

  [[nodiscard]] std::uint64_t cells_along(std::size_t axis) const {
    return (shape[axis] + cell[axis] - 1) / cell[axis];
  }
  [[nodiscard]] std::uint64_t num_cells() const;
  /// Return the elements of a cell.
  [[nodiscard]] std::uint64_t cell_elements() const;
  /// Return the first element of a cell along each axis. Cells are numbered in C order.
  [[nodiscard]] Axes cell_start(std::uint64_t cell_number) const;
  /// Return the extents that what is read of a cell lies in, C order: the cell's, or the array's where boxes are read
  /// by themselves.
  [[nodiscard]] const Axes& extents() const { return cells == Cells::kPlain ? shape : cell; }
  /// Return the first cell along an axis that has a part of a box, and how many have. A box has an element of the array
  /// at least, and may begin before it and reach past its end: the outermost cells have what lies there.
  struct Along {
    std::uint64_t first, count;
  };
  [[nodiscard]] Along cells_of(std::size_t axis, std::int64_t start, std::uint64_t box) const {
    const std::uint64_t inside = start < 0 ? 0 : static_cast<std::uint64_t>(start), first = inside / cell[axis];
    if (cells == Cells::kPlain) return {first, 1};
    const std::uint64_t last = (static_cast<std::uint64_t>(start + static_cast<std::int64_t>(box)) - 1) / cell[axis];
    const std::uint64_t most = cells_along(axis) - 1;
    return {first, (last < most ? last : most) - first + 1};
  }
  /// Call `work` with the number of every cell that has a part of a box, in C order.
  template <class Work>
  void for_cells(const Places& start, const Axes& box, Work work) const {
    Axes first{}, count{};
    for (std::size_t a = 0; a < rank; ++a) {
      const Along along = cells_of(a, start[a], box[a]);
      first[a] = along.first, count[a] = along.count;
    }
    Axes at{};
    for (;;) {
      std::uint64_t number = 0;
      for (std::size_t a = 0; a < rank; ++a) number = number * cells_along(a) + first[a] + at[a];
      work(number);
      std::size_t a = rank;
      while (a > 0 && ++at[a - 1] == count[a - 1]) at[--a] = 0;
      if (a == 0) return;
    }
  }
};

/// What lies in both a sample's box and a cell.
struct BoxOverlap {
  Axes count{};                   ///< Elements along each axis.
  Axes box_begin{};               ///< First element in the box, along each axis.
  std::uint64_t cell_offset = 0;  ///< First element, counted in CellGrid::extents().
  std::uint64_t box_offset = 0;   ///< And in the box.
  /// Elements of the box from `owned_begin` on that are this cell's to write: more than `count` where the box begins
  /// before the array, or reaches past its end.
  Axes owned_begin{}, owned{};
  /// Return true if some of those lie outside the array.
  [[nodiscard]] bool reaches_outside() const { return owned != count; }
};
BoxOverlap overlap_of(const CellGrid& grid, std::uint64_t cell_number, const Places& box_start, const Axes& box_shape);

/// Return the hash of an overlap of cell `cell_number` that is copied to where it belongs in the box at `place`. It is
/// made of the first and the last run of elements, which a wrong stride moves apart.
std::uint64_t box_hash(std::uint64_t cell_number, std::uint64_t first_from, std::uint64_t last_from,
                       std::uint64_t first_to, std::uint64_t last_to, std::uint64_t run_elements);

}  // namespace headrace
