// MergedChunks: which rows a chunk has, where the first axes of an array count as one. Arithmetic only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "format/format_reader.h"

namespace headrace {

/// Chunks are numbered row-major over the whole grid. Immutable. Threads: any.
class MergedChunks {
 public:
  /// \param shape  Of the array. \param chunk  Of a chunk, as many. \param axes  How many are merged, at least 1.
  MergedChunks(const std::vector<std::uint64_t>& shape, const std::vector<std::uint64_t>& chunk, std::size_t axes);

  [[nodiscard]] std::size_t axes() const { return axes_.size(); }
  /// Return the chunks side by side across a row.
  [[nodiscard]] std::uint64_t across() const { return across_; }
  /// Return the rows that a chunk has for each index of the first axis, with padding.
  [[nodiscard]] std::uint64_t cells_a_row() const;

  /// Return the rows that decode together. \param row_bytes  Of a row. \param ends  Where they are not equally many:
  /// rows up to the end of each, and the most of one is returned.
  [[nodiscard]] std::uint64_t rows_together(std::uint64_t row_bytes, std::vector<std::uint64_t>& ends) const;
  /// Append the chunks that may have a row of `rows`, which are not empty, in their order.
  void cells_of(RowRange rows, std::vector<std::uint64_t>& out) const;
  /// Return the rows from a chunk's first one to its last.
  [[nodiscard]] RowRange rows_of(std::uint64_t cell) const;
  /// Append the chunk's rows as ArrayReader::runs() does.
  void runs_of(std::uint64_t cell, std::vector<PieceRun>& out) const;

 private:
  struct Axis {
    std::uint64_t size, chunk, grid;  // grid: chunks along it
    std::uint64_t rows;               // of one index
    std::uint64_t cells;              // of a chunk, of one index
  };
  struct Box {
    std::vector<std::uint64_t> start, count;
  };
  [[nodiscard]] Box box_of(std::uint64_t cell) const;
  /// Return the first of the axes behind which chunks are as long as the array: their cells follow each other as rows
  /// do.
  [[nodiscard]] std::size_t first_whole_axis() const;

  std::vector<Axis> axes_;
  std::uint64_t across_ = 1;
};

}  // namespace headrace
