#include "catalog/samples/visit_starts.h"

#include <algorithm>

#include "base/random/philox.h"

namespace headrace {
namespace {

/// Keys of one seed and epoch differ by such numbers; see box_starts.cpp and order/key_use.h.
constexpr std::uint64_t kShift = 41, kJitter = 42;

/// floor(a * b / c)
std::uint64_t part_of(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  __extension__ using uint128 = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<uint128>(a) * b / c);
}

}  // namespace

VisitStarts::VisitStarts(Options options) : options_(std::move(options)) {
  for (std::uint32_t v = 0; v < options_.shapes.size(); ++v) {
    std::uint64_t starts = 1;
    for (std::size_t a = 0; a < options_.visit.rank; ++a) starts *= starts_along(v, a);
    ends_.push_back((ends_.empty() ? 0 : ends_.back()) + starts);
  }
  const std::uint64_t boxes = options_.visit.num_boxes();
  visits_ = (options_.samples + boxes - 1) / boxes | 1;
  visits_ = std::max<std::uint64_t>(std::min(visits_, options_.samples), 1);  // none without a sample
}

std::uint64_t VisitStarts::memory_bytes() const {
  return options_.shapes.capacity() * sizeof(Axes) + ends_.capacity() * sizeof(ends_[0]);
}

std::vector<std::uint64_t> VisitStarts::block_ends() const {
  std::vector<std::uint64_t> ends(visits_);
  for (std::uint64_t j = 0; j < visits_; ++j) ends[j] = part_of(j + 1, options_.samples, visits_);
  return ends;
}

std::uint64_t VisitStarts::box_of(std::uint64_t sample, EpochSeed draws) const {
  __extension__ using uint128 = unsigned __int128;
  const auto visit = static_cast<std::uint64_t>(((static_cast<uint128>(sample) + 1) * visits_ - 1) / options_.samples);
  const std::uint64_t row = sample - part_of(visit, options_.samples, visits_), total = line();
  const std::uint64_t shift = KeyedRandom(RandomKey::of({draws.seed, draws.epoch, kShift})).below(total);
  const std::uint64_t first = part_of(visit, total, visits_), room = part_of(visit + 1, total, visits_) - first;
  KeyedRandom jitter(RandomKey::of({draws.seed, draws.epoch, kJitter, visit}));
  std::uint64_t place = first + (room > 0 ? jitter.below(room) : 0);
  place = place >= total - shift ? place - (total - shift) : place + shift;
  const std::uint64_t boxes = options_.visit.num_boxes();
  const BoxPlace at = start_of({place, (row + jitter.below(boxes)) % boxes, visit, draws});
  std::uint64_t number = 0;
  for (std::size_t a = 0; a < options_.visit.rank; ++a) number = number * starts_along(at.volume, a) + at.start[a];
  return (at.volume == 0 ? 0 : ends_[at.volume - 1]) + number;
}

BoxPlace VisitStarts::place_of(std::uint64_t box) const {
  const auto volume = static_cast<std::uint32_t>(std::ranges::upper_bound(ends_, box) - ends_.begin());
  BoxPlace place{volume, {}};
  if (volume > 0) box -= ends_[volume - 1];
  for (std::size_t a = options_.visit.rank; a-- > 0; box /= starts_along(volume, a))
    place.start[a] = box % starts_along(volume, a);
  return place;
}

}  // namespace headrace
