// CellGrid: an array cut into cells that decode together, and what of a cell lies in a box.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace headrace {

inline constexpr std::size_t kMostAxes = 5;
using Axes = std::array<std::uint64_t, kMostAxes>;  ///< Entries behind the rank are 1 for shapes, 0 for places.

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
  /// Call `work` with the number of every cell that has a part of a box, in C order. A box may reach past the array's
  /// end: the last cells have what lies there.
  template <class Work>
  void for_cells(const Axes& start, const Axes& box, Work work) const {
    Axes first{}, count{};
    for (std::size_t a = 0; a < rank; ++a) {
      first[a] = start[a] / cell[a];
      const std::uint64_t last = (start[a] + box[a] - 1) / cell[a], most = cells_along(a) - 1;
      count[a] = cells == Cells::kPlain ? 1 : (last < most ? last : most) - first[a] + 1;
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
  /// Elements of the box from `box_begin` on that are this cell's to fill: more than `count` where the box reaches past
  /// the array's end.
  Axes owned{};
  /// True if some of those lie past the array's end.
  [[nodiscard]] bool reaches_past_end() const { return owned != count; }
};
BoxOverlap overlap_of(const CellGrid& grid, std::uint64_t cell_number, const Axes& box_start, const Axes& box_shape);

/// Return the hash of an overlap of cell `cell_number` that is copied to where it belongs in the box at `place`. It is
/// made of the first and the last run of elements, which a wrong stride moves apart.
std::uint64_t box_hash(std::uint64_t cell_number, std::uint64_t first_from, std::uint64_t last_from,
                       std::uint64_t first_to, std::uint64_t last_to, std::uint64_t run_elements);

}  // namespace headrace
