// VisitStarts: boxes that are drawn a visit at a time, so that those which share chunks are near each other in an
// epoch.
//
// Visits lie on a line of T numbers. Visit j of J lies at u_j = (U + a_j + r_j) mod T: a_j = floor(jT/J), r_j uniform
// below a_(j+1) - a_j, U uniform below T, one an epoch. So u_j is uniform for every j, and visits are spread evenly
// over the line. Sample i of a visit gets its box i + s modulo their number, s uniform. What a number of the line
// means, and which boxes a visit has there, is that of EvenVisits or BalancedVisits.
#pragma once

#include <cstdint>
#include <vector>

#include "catalog/samples/box_starts.h"
#include "catalog/samples/visit_shape.h"

namespace headrace {

class VisitStarts : public BoxStarts {
 public:
  struct Options {
    std::vector<Axes> shapes;  ///< Extents of each volume, each as large as the box at least.
    Axes box{};
    VisitShape visit;
    std::uint64_t samples = 0;  ///< An epoch.
  };

  [[nodiscard]] std::uint64_t num_samples() const final { return options_.samples; }
  [[nodiscard]] std::vector<std::uint64_t> volume_ends() const final { return {}; }
  /// Return the ends of visits: none has more samples than boxes.
  [[nodiscard]] std::vector<std::uint64_t> block_ends() const final;
  [[nodiscard]] std::uint64_t box_of(std::uint64_t sample, EpochSeed draws) const final;
  [[nodiscard]] BoxPlace place_of(std::uint64_t box) const final;
  void meeting(std::uint32_t, const Axes&, const Axes&, const Axes&, std::vector<std::uint64_t>&) const final {}
  [[nodiscard]] std::uint64_t memory_bytes() const override;
  [[nodiscard]] const VisitStarts* visits() const final { return this; }

  /// Return the visits of an epoch: an odd number, so that the streams of a shuffle, of which there are a power of two,
  /// do not all begin a visit at the same time.
  [[nodiscard]] std::uint64_t num_visits() const { return visits_; }
  [[nodiscard]] const VisitShape& visit() const { return options_.visit; }
  /// Return the classes that boxes are centred in; 0: every start is equally likely.
  [[nodiscard]] virtual std::size_t num_classes() const { return 0; }
  /// Return all starts of all volumes.
  [[nodiscard]] std::uint64_t num_starts() const { return ends_.back(); }

 protected:
  explicit VisitStarts(Options options);
  [[nodiscard]] const Options& options() const { return options_; }
  /// Return the starts of a volume along an axis.
  [[nodiscard]] std::uint64_t starts_along(std::uint32_t volume, std::size_t axis) const {
    return options_.shapes[volume][axis] - options_.box[axis] + 1;
  }

  /// One box of a visit.
  struct Draw {
    std::uint64_t place;  ///< Number of the visit on the line.
    std::uint64_t box;    ///< Number of the box, below visit().num_boxes(): uniform.
    std::uint64_t visit;
    EpochSeed draws;
  };
  /// Return the length of the line.
  [[nodiscard]] virtual std::uint64_t line() const = 0;
  [[nodiscard]] virtual BoxPlace start_of(const Draw& draw) const = 0;

 private:
  const Options options_;
  std::vector<std::uint64_t> ends_;  // starts before the end of each volume
  std::uint64_t visits_ = 1;
};

}  // namespace headrace
