#include "catalog/samples/visit_shape.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace headrace {
namespace {

constexpr double kTarget = 1.5;             // decoded bytes for each delivered one
constexpr std::uint64_t kMostBoxes = 64;    // of a visit; beyond, boxes of a visit are too many for the mix of a batch
constexpr std::uint64_t kLeastVisits = 32;  // an epoch of fewer would see little of the volumes
constexpr std::uint64_t kWidestCell = 20;   // chunks
constexpr std::uint64_t kPlacesTried = 512;

struct AxisShape {
  std::uint64_t boxes, cell;
  double amplification;
};

/// The fewest boxes that meet the target, then the widest cell that still does.
AxisShape axis_shape(std::uint64_t box, std::uint64_t chunk, std::uint64_t most_boxes) {
  const double target = std::cbrt(kTarget);
  std::optional<AxisShape> best;
  for (std::uint64_t boxes = 1; boxes <= most_boxes; ++boxes) {
    // One box has any place: its cell is as wide as the box, whole chunks.
    const std::uint64_t widest = boxes == 1 ? (box + chunk - 1) / chunk : kWidestCell - 1;
    const std::uint64_t least = boxes == 1 ? widest : 1;
    for (std::uint64_t chunks = widest; chunks >= least; --chunks) {
      const std::uint64_t cell = chunks * chunk;
      const bool too_near = 2 * cell < boxes * box && cell < boxes * std::max<std::uint64_t>(box / 2, 1);
      if (boxes > 1 && (too_near || cell < boxes || cell > boxes * std::max(box, chunk))) continue;
      const double amplification = visit_figures(boxes, cell, box, chunk).amplification;
      if (amplification <= target) return {boxes, cell, amplification};
      if (!best || amplification < best->amplification) best = AxisShape{boxes, cell, amplification};
    }
  }
  return *best;
}

}  // namespace

VisitFigures visit_figures(std::uint64_t count, std::uint64_t cell, std::uint64_t box, std::uint64_t chunk) {
  const std::uint64_t step = cell / kPlacesTried + 1;
  std::uint64_t places = 0, chunks = 0;
  double overlap = 0;
  for (std::uint64_t o = 0; o < cell; o += step) {
    ++places;
    std::uint64_t end = 0, reach = 0, distinct = 0;  // chunks before `end` are counted, elements before `reach`
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t start = (o + i * cell) / count, first = std::max(start / chunk, end);
      end = (start + box - 1) / chunk + 1;
      chunks += end - std::min(first, end);
      distinct += start + box - std::max(start, reach);
      reach = start + box;
    }
    overlap += static_cast<double>(count * box) / static_cast<double>(distinct);
  }
  const auto n = static_cast<double>(places);
  return {static_cast<double>(chunks * chunk) / (n * static_cast<double>(count * box)), overlap / n};
}

VisitShape visit_shape(std::size_t rank, const Axes& box, const Axes& chunk, std::uint64_t samples) {
  VisitShape shape{rank, {}, {}};
  const std::uint64_t most_boxes = std::clamp<std::uint64_t>(samples / kLeastVisits, 1, kMostBoxes);
  Axes most{};
  most.fill(most_boxes);
  for (;;) {
    std::size_t largest = 0;
    for (std::size_t a = 0; a < rank; ++a) {
      const AxisShape axis = axis_shape(box[a], chunk[a], most[a]);
      shape.boxes[a] = axis.boxes;
      shape.cell[a] = axis.cell;
      if (axis.boxes > shape.boxes[largest]) largest = a;
    }
    if (shape.num_boxes() <= most_boxes) return shape;
    most[largest] = shape.boxes[largest] - 1;
  }
}

double visit_amplification(const VisitShape& shape, const Axes& box, const Axes& chunk) {
  double product = 1;
  for (std::size_t a = 0; a < shape.rank; ++a)
    product *= visit_figures(shape.boxes[a], shape.cell[a], box[a], chunk[a]).amplification;
  return product;
}

double visit_overlap(const VisitShape& shape, const Axes& box) {
  double product = 1;
  for (std::size_t a = 0; a < shape.rank; ++a)
    product *= visit_figures(shape.boxes[a], shape.cell[a], box[a], 1).overlap;
  return product;
}

}  // namespace headrace
