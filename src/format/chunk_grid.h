// ChunkGrid: the chunks of an array, numbered row-major, and where the rows of one lie. Arithmetic only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/format_reader.h"

namespace headrace {

/// Chunks at the array's end reach past it: what is decoded of them is as long as of others. Immutable. Threads: any.
class ChunkGrid {
 public:
  ChunkGrid() = default;
  /// \param shape  Of the array, at least one axis. \param chunk  Of a chunk, as many, none 0.
  ChunkGrid(std::vector<std::uint64_t> shape, std::vector<std::uint64_t> chunk);
  /// Return whether the chunks of such an array can be numbered: at most 2^63, and at most 2^31 across a row.
  static bool can_number(const std::vector<std::uint64_t>& shape, const std::vector<std::uint64_t>& chunk);

  [[nodiscard]] std::size_t rank() const { return shape_.size(); }
  [[nodiscard]] std::uint64_t num_cells() const { return num_cells_; }
  /// Return the chunks side by side across a row.
  [[nodiscard]] std::uint32_t across() const { return across_; }
  /// Return the elements of a chunk.
  [[nodiscard]] std::uint64_t chunk_elements() const { return chunk_elements_; }
  /// Return the chunk's place in the grid, along each axis.
  [[nodiscard]] std::vector<std::uint64_t> coordinates(std::uint64_t cell) const;
  /// Return the number of the chunk at these coordinates.
  [[nodiscard]] std::uint64_t number(const std::vector<std::uint64_t>& coordinates) const;
  /// Return the piece that a chunk is: its number, rows and place across; nothing of what is stored.
  [[nodiscard]] Piece piece(std::uint64_t cell) const;
  /// Return the chunks that hold `rows`, which are not empty, as the first number and the one behind the last.
  struct Cells {
    std::uint64_t first, end;
  };
  [[nodiscard]] Cells cells_of(RowRange rows) const;
  /// Return whether the grid has a chunk at these coordinates.
  [[nodiscard]] bool contains(const std::vector<std::uint64_t>& coordinates) const;
  /// Append the chunks that lie in cell `cell` of a coarser grid of the same array, of those in `range`.
  void cells_inside(const ChunkGrid& coarse, std::uint64_t cell, Cells range, std::vector<std::uint64_t>& out) const;
  /// Return how a row lies in a chunk of C order: see ArrayReader::geometry().
  [[nodiscard]] RowGeometry geometry(std::uint32_t across, std::uint64_t record_bytes,
                                     const RowGeometry& element) const;

 private:
  std::vector<std::uint64_t> shape_, chunk_, grid_;  // grid: chunks along each axis
  std::uint64_t num_cells_ = 0, chunk_elements_ = 1;
  std::uint32_t across_ = 1;
};

}  // namespace headrace
