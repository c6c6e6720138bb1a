// EvenVisits: visits whose boxes begin at every place of every volume with equal probability, each by itself.
//
// The line has all starts of all volumes: volume by volume, cell by cell, every other row of cells backwards, each cell
// as long as it has starts, so that a cell is hit as often as it has starts. Along an axis where the cell has l starts
// the visit's m boxes begin at lo + floor((o + i l) / m), i = 0 … m-1, o uniform below l: o + i l is uniform below m l
// for a uniform i, and m numbers give each start.
//
// Where a volume is so small that boxes of a cell would nearly be one, a visit takes one box along that axis, and goes
// on in other cells of such volumes, so that all visits have equally many boxes.
#pragma once

#include <cstdint>
#include <vector>

#include "catalog/samples/visit_starts.h"

namespace headrace {

class EvenVisits final : public VisitStarts {
 public:
  explicit EvenVisits(Options options);
  [[nodiscard]] std::uint64_t memory_bytes() const override;

  /// A cell of a volume: its starts along each axis.
  struct Cell {
    std::uint32_t volume = 0;  ///< As in Options::shapes.
    Axes first{}, count{};
    Axes boxes{};  ///< Boxes that a visit takes there along each axis.
  };
  /// Return the cell at a place of the line, below num_starts(). Each comes as often as it has starts.
  [[nodiscard]] Cell cell_at(std::uint64_t place) const;

 protected:
  [[nodiscard]] std::uint64_t line() const override { return num_starts(); }
  [[nodiscard]] BoxPlace start_of(const Draw& draw) const override;

 private:
  struct Volume {
    std::uint32_t number;
    Axes starts, cells, boxes;  // along each axis
  };
  /// Volumes of which a visit takes equally many boxes of a cell: their part of the line.
  struct Kind {
    std::uint64_t begin, end, boxes;
  };
  [[nodiscard]] Volume volume_of(std::uint32_t number) const;

  std::vector<Volume> volumes_;           // by kind
  std::vector<std::uint64_t> line_ends_;  // starts before the end of each
  std::vector<Kind> kinds_;
};

}  // namespace headrace
