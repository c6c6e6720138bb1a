// VisitShape: how many boxes of a volume are drawn near each other, so that a chunk which one of them needs is decoded
// for all of them.
#pragma once

#include <cstdint>

#include "catalog/samples/cell_grid.h"

namespace headrace {

/// A visit takes `boxes[a]` boxes along axis a, at about equal distances, from a cell of `cell[a]` starts.
struct VisitShape {
  std::size_t rank = 3;
  Axes boxes{}, cell{};
  /// Return the boxes of a visit.
  [[nodiscard]] std::uint64_t num_boxes() const {
    std::uint64_t n = 1;
    for (std::size_t a = 0; a < rank; ++a) n *= boxes[a];
    return n;
  }
};

/// What holds of a visit along one axis, on average over its places in its cell.
struct VisitFigures {
  double amplification = 1;  ///< Decoded elements of the chunks under its boxes, over elements of the boxes.
  double overlap = 1;        ///< Elements of the boxes, over those that differ.
};

/// Return the figures of `count` boxes of `box` elements in a cell of `cell` starts that begins on a border of chunks
/// of `chunk` elements. Source: an exact mean over at most 512 places of the cell, at equal distances.
VisitFigures visit_figures(std::uint64_t count, std::uint64_t cell, std::uint64_t box, std::uint64_t chunk);

/// Return the shape whose amplification is at most 1.5 with the fewest boxes, at most 64, in the widest cells; where
/// none is, the one that comes nearest. Boxes of an axis are half a box apart at least. \param samples  An epoch: it
/// has 32 visits or more.
VisitShape visit_shape(std::size_t rank, const Axes& box, const Axes& chunk, std::uint64_t samples);

/// Return the amplification of a visit for an array of these chunks.
double visit_amplification(const VisitShape& shape, const Axes& box, const Axes& chunk);

/// Return how often boxes overlap inside a visit.
double visit_overlap(const VisitShape& shape, const Axes& box);

}  // namespace headrace
