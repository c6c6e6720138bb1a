#include "catalog/samples/box_starts.h"

#include <algorithm>

#include "base/random/philox.h"

namespace headrace {
namespace {

/// Keys of one seed and epoch differ by such numbers; those of the orders are in order/key_use.h.
constexpr std::uint64_t kBoxOfSample = 40;

std::size_t volume_of(const std::vector<std::uint64_t>& ends, std::uint64_t number) {
  return static_cast<std::size_t>(std::ranges::upper_bound(ends, number) - ends.begin());
}

}  // namespace

std::uint64_t GridStarts::count_along(std::uint64_t size, std::uint64_t box, std::uint64_t stride, BoxEdge edge) {
  if (size == 0 || (size < box && edge != BoxEdge::kFill)) return 0;
  const std::uint64_t left = size < box ? 0 : size - box;
  if (edge == BoxEdge::kDrop) return left / stride + 1;
  const std::uint64_t count = (left + stride - 1) / stride + 1;
  // A stride beyond the box may lead past the end, where nothing is.
  return edge == BoxEdge::kFill ? std::min(count, (size + stride - 1) / stride) : count;
}

GridStarts::GridStarts(Options options) : options_(std::move(options)) {
  for (const Axes& shape : options_.shapes) {
    Axes& counts = counts_.emplace_back();
    std::uint64_t all = 1;
    for (std::size_t a = 0; a < options_.rank; ++a)
      all *= counts[a] = count_along(shape[a], options_.box[a], options_.stride[a], options_.edge);
    ends_.push_back(num_samples() + all);
  }
}

std::uint64_t GridStarts::start_along(std::size_t volume, std::size_t axis, std::uint64_t i) const {
  const std::uint64_t start = i * options_.stride[axis];
  if (options_.edge != BoxEdge::kShift) return start;
  return std::min(start, options_.shapes[volume][axis] - options_.box[axis]);
}

BoxPlace GridStarts::place_of(std::uint64_t box) const {
  const std::size_t volume = volume_of(ends_, box);
  BoxPlace place{static_cast<std::uint32_t>(volume), {}};
  if (volume > 0) box -= ends_[volume - 1];
  for (std::size_t a = options_.rank; a-- > 0; box /= counts_[volume][a])
    place.start[a] = start_along(volume, a, box % counts_[volume][a]);
  return place;
}

void GridStarts::meeting(std::uint32_t volume, const Axes& begin, const Axes& end, const Axes& reach,
                         std::vector<std::uint64_t>& samples) const {
  const std::uint64_t before = volume == 0 ? 0 : ends_[volume - 1];
  if (ends_[volume] == before) return;
  Axes first{}, count{};
  for (std::size_t a = 0; a < options_.rank; ++a) {
    const std::uint64_t boxes = counts_[volume][a], stride = options_.stride[a];
    std::uint64_t i = begin[a] < reach[a] ? 0 : (begin[a] - reach[a]) / stride + 1;
    i = std::min(i, boxes - 1);  // the last one may have moved inwards
    if (start_along(volume, a, i) + reach[a] <= begin[a]) return;
    first[a] = i;
    while (i < boxes && start_along(volume, a, i) < end[a]) ++i;
    count[a] = i - first[a];
    if (count[a] == 0) return;
  }
  Axes at{};
  for (;;) {
    std::uint64_t number = 0;
    for (std::size_t a = 0; a < options_.rank; ++a) number = number * counts_[volume][a] + first[a] + at[a];
    samples.push_back(before + number);
    std::size_t a = options_.rank;
    while (a > 0 && ++at[a - 1] == count[a - 1]) at[--a] = 0;
    if (a == 0) return;
  }
}

DrawnStarts::DrawnStarts(std::size_t rank, std::vector<Axes> shapes, const Axes& box, std::uint64_t samples)
    : rank_(rank), samples_(samples), starts_(std::move(shapes)) {
  for (Axes& along : starts_) {
    std::uint64_t all = 1;
    for (std::size_t a = 0; a < rank_; ++a) all *= along[a] = along[a] - box[a] + 1;
    ends_.push_back((ends_.empty() ? 0 : ends_.back()) + all);
  }
}

std::uint64_t DrawnStarts::box_of(std::uint64_t sample, EpochSeed draws) const {
  return KeyedRandom(RandomKey::of({draws.seed, draws.epoch, kBoxOfSample, sample})).below(ends_.back());
}

BoxPlace DrawnStarts::place_of(std::uint64_t box) const {
  const std::size_t volume = volume_of(ends_, box);
  BoxPlace place{static_cast<std::uint32_t>(volume), {}};
  if (volume > 0) box -= ends_[volume - 1];
  for (std::size_t a = rank_; a-- > 0; box /= starts_[volume][a]) place.start[a] = box % starts_[volume][a];
  return place;
}

}  // namespace headrace
