// BoxStarts: where in which volume each sample's box begins: on a grid, or drawn anew in each epoch.
#pragma once

#include <cstdint>
#include <vector>

#include "catalog/epoch_seed.h"
#include "catalog/samples/cell_grid.h"

namespace headrace {

/// A box's volume, by its number in the map, and its first element there.
struct BoxPlace {
  std::uint32_t volume = 0;
  Axes start{};
};

class VisitStarts;

/// Boxes are numbered; a sample has one of them in each epoch. Immutable. Threads: all members from any thread at once.
class BoxStarts {
 public:
  virtual ~BoxStarts() = default;
  [[nodiscard]] virtual std::uint64_t num_samples() const = 0;
  /// Return the samples before the end of each volume; empty where each may come from any volume.
  [[nodiscard]] virtual std::vector<std::uint64_t> volume_ends() const = 0;
  /// Return the samples before the end of each shuffle block, where these are not equally long: of drawn ones that are
  /// near each other in every epoch. Empty: any samples may be shuffled together.
  [[nodiscard]] virtual std::vector<std::uint64_t> block_ends() const { return {}; }
  /// Return the box that a sample has in an epoch.
  [[nodiscard]] virtual std::uint64_t box_of(std::uint64_t sample, EpochSeed draws) const = 0;
  [[nodiscard]] virtual BoxPlace place_of(std::uint64_t box) const = 0;
  /// Append, by ascending number, the samples of a volume of which boxes of shape `reach`, put where their own begin,
  /// have elements in [begin, end). Of drawn ones: none.
  virtual void meeting(std::uint32_t volume, const Axes& begin, const Axes& end, const Axes& reach,
                       std::vector<std::uint64_t>& samples) const = 0;
  [[nodiscard]] virtual std::uint64_t memory_bytes() const = 0;
  /// Return itself where boxes are drawn a visit at a time; else null.
  [[nodiscard]] virtual const VisitStarts* visits() const { return nullptr; }
};

/// What becomes of the last box along an axis, where the array is no multiple of the stride.
enum class BoxEdge : std::uint8_t {
  kShift,  ///< It moves inwards, so that it ends with the array.
  kDrop,   ///< It is left out, if it would reach past the end.
  kFill,   ///< It reaches past the end.
};

/// Boxes at equal distances: sample i of a volume is box i of its grid, C order.
class GridStarts final : public BoxStarts {
 public:
  struct Options {
    std::size_t rank = 3;
    std::vector<Axes> shapes;  ///< Extents of each volume.
    Axes box{}, stride{};
    BoxEdge edge = BoxEdge::kShift;
  };
  explicit GridStarts(Options options);
  [[nodiscard]] std::uint64_t num_samples() const override { return ends_.empty() ? 0 : ends_.back(); }
  [[nodiscard]] std::vector<std::uint64_t> volume_ends() const override { return ends_; }
  [[nodiscard]] std::uint64_t box_of(std::uint64_t sample, EpochSeed) const override { return sample; }
  [[nodiscard]] BoxPlace place_of(std::uint64_t box) const override;
  void meeting(std::uint32_t volume, const Axes& begin, const Axes& end, const Axes& reach,
               std::vector<std::uint64_t>& samples) const override;
  [[nodiscard]] std::uint64_t memory_bytes() const override {
    return (options_.shapes.capacity() + counts_.capacity()) * sizeof(Axes) + ends_.capacity() * sizeof(ends_[0]);
  }
  /// Return the boxes along an axis of `size` elements.
  static std::uint64_t count_along(std::uint64_t size, std::uint64_t box, std::uint64_t stride, BoxEdge edge);

 private:
  [[nodiscard]] std::uint64_t start_along(std::size_t volume, std::size_t axis, std::uint64_t i) const;

  const Options options_;
  std::vector<Axes> counts_;  // boxes along each axis, of each volume
  std::vector<std::uint64_t> ends_;
};

/// Every start of every volume is equally likely, for each sample of each epoch by itself: box u is the u-th of them.
class DrawnStarts final : public BoxStarts {
 public:
  /// \param shapes  Of the volumes, each as large as the box at least. All their starts together are fewer than 2^64.
  DrawnStarts(std::size_t rank, std::vector<Axes> shapes, const Axes& box, std::uint64_t samples);
  [[nodiscard]] std::uint64_t num_samples() const override { return samples_; }
  [[nodiscard]] std::vector<std::uint64_t> volume_ends() const override { return {}; }
  [[nodiscard]] std::uint64_t box_of(std::uint64_t sample, EpochSeed draws) const override;
  [[nodiscard]] BoxPlace place_of(std::uint64_t box) const override;
  void meeting(std::uint32_t, const Axes&, const Axes&, const Axes&, std::vector<std::uint64_t>&) const override {}
  [[nodiscard]] std::uint64_t memory_bytes() const override {
    return ends_.capacity() * sizeof(ends_[0]) + starts_.capacity() * sizeof(Axes);
  }

 private:
  const std::size_t rank_;
  const std::uint64_t samples_;
  std::vector<Axes> starts_;         // along each axis, of each volume
  std::vector<std::uint64_t> ends_;  // starts up to the end of each volume
};

}  // namespace headrace
