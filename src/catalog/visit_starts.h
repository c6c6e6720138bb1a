// VisitStarts: boxes that are drawn a visit at a time, so that those which share chunks are near each other in an
// epoch. Each box by itself begins at every place of every volume with equal probability.
//
// All starts of all volumes lie on a line: volume by volume, cell by cell, every other row of cells backwards, each
// cell as long as it has starts. Visit j of J lies at u_j = (U + a_j + r_j) mod T: T starts, a_j = floor(jT/J), r_j
// uniform below a_(j+1) - a_j, U uniform below T, one an epoch. So u_j is uniform, and a cell is hit as often as it has
// starts. Along an axis where the cell has l starts the visit's m boxes begin at lo + floor((o + i l) / m), i = 0 …
// m-1, o uniform below l: o + i l is uniform below m l for a uniform i, and m numbers give each start. Sample i of a
// visit gets box i + s modulo their number, s uniform.
//
// Where a volume is so small that boxes of a cell would nearly be one, a visit takes one box along that axis, and goes
// on in other cells of such volumes, so that all visits have equally many boxes.
#pragma once

#include <cstdint>
#include <vector>

#include "catalog/box_starts.h"
#include "catalog/visit_shape.h"

namespace headrace {

class VisitStarts final : public BoxStarts {
 public:
  struct Options {
    std::vector<Axes> shapes;  ///< Extents of each volume, each as large as the box at least.
    Axes box{};
    VisitShape visit;
    std::uint64_t samples = 0;  ///< An epoch.
  };
  explicit VisitStarts(Options options);

  [[nodiscard]] std::uint64_t num_samples() const override { return options_.samples; }
  [[nodiscard]] std::vector<std::uint64_t> volume_ends() const override { return {}; }
  [[nodiscard]] std::uint64_t box_of(std::uint64_t sample, EpochSeed draws) const override;
  [[nodiscard]] BoxPlace place_of(std::uint64_t box) const override;
  void meeting(std::uint32_t, const Axes&, const Axes&, const Axes&, std::vector<std::uint64_t>&) const override {}
  [[nodiscard]] std::uint64_t memory_bytes() const override;
  [[nodiscard]] const VisitStarts* visits() const override { return this; }

  /// Return the visits of an epoch: an odd number, so that the streams of a shuffle, of which there are a power of two,
  /// do not all begin a visit at the same time.
  [[nodiscard]] std::uint64_t num_visits() const { return visits_; }
  /// Visits: none has more samples than boxes.
  [[nodiscard]] std::vector<std::uint64_t> home_ends() const override;
  [[nodiscard]] const VisitShape& visit() const { return options_.visit; }
  /// Return all starts of all volumes.
  [[nodiscard]] std::uint64_t num_starts() const { return ends_.back(); }

  /// A cell of a volume: its starts along each axis.
  struct Cell {
    std::uint32_t volume = 0;  ///< As in Options::shapes.
    Axes first{}, count{};
    Axes boxes{};  ///< Boxes that a visit takes there along each axis.
  };
  /// Return the cell at a place of the line, below num_starts(). Each comes as often as it has starts.
  [[nodiscard]] Cell cell_at(std::uint64_t place) const;

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
  [[nodiscard]] std::size_t at_line(std::uint64_t place) const;

  const Options options_;
  std::vector<Volume> volumes_;      // by kind
  std::vector<std::uint64_t> ends_;  // starts before the end of each
  std::vector<Kind> kinds_;
  std::uint64_t visits_ = 1;
};

}  // namespace headrace
