#include "catalog/samples/even_visits.h"

#include <algorithm>
#include <functional>

#include "base/random/philox.h"

namespace headrace {
namespace {

constexpr std::uint64_t kOffset = 43;  // after those of visit_starts.cpp

}  // namespace

EvenVisits::EvenVisits(Options given) : VisitStarts(std::move(given)) {
  const std::size_t rank = options().visit.rank;
  for (std::uint32_t v = 0; v < options().shapes.size(); ++v) volumes_.push_back(volume_of(v));
  const auto product = [&](const Axes& axes) {
    std::uint64_t n = 1;
    for (std::size_t a = 0; a < rank; ++a) n *= axes[a];
    return n;
  };
  std::ranges::stable_sort(volumes_, std::ranges::greater{}, [&](const Volume& v) { return product(v.boxes); });
  std::uint64_t end = 0;
  for (const Volume& volume : volumes_) {
    const std::uint64_t boxes = product(volume.boxes);
    if (kinds_.empty() || kinds_.back().boxes != boxes) kinds_.push_back({end, end, boxes});
    kinds_.back().end = end += product(volume.starts);
    line_ends_.push_back(end);
  }
}

EvenVisits::Volume EvenVisits::volume_of(std::uint32_t number) const {
  Volume volume{number, {}, {}, {}};
  for (std::size_t a = 0; a < options().visit.rank; ++a) {
    const std::uint64_t cell = options().visit.cell[a], boxes = options().visit.boxes[a];
    const std::uint64_t starts = volume.starts[a] = starts_along(number, a);
    volume.cells[a] = std::max<std::uint64_t>((starts + cell / 2) / cell, 1);
    volume.boxes[a] = starts < boxes * options().box[a] / 4 ? 1 : boxes;
  }
  return volume;
}

std::uint64_t EvenVisits::memory_bytes() const {
  return VisitStarts::memory_bytes() + volumes_.capacity() * sizeof(Volume) +
         line_ends_.capacity() * sizeof(line_ends_[0]);
}

EvenVisits::Cell EvenVisits::cell_at(std::uint64_t place) const {
  const std::size_t rank = options().visit.rank;
  const auto at = static_cast<std::size_t>(std::ranges::upper_bound(line_ends_, place) - line_ends_.begin());
  const Volume& volume = volumes_[at];
  Cell cell{volume.number, {}, {}, volume.boxes};
  std::uint64_t left = place - (at == 0 ? 0 : line_ends_[at - 1]);
  std::uint64_t section = 1;  // starts of what was settled so far: a slab, then a row of cells
  bool backwards = false;
  for (std::size_t a = 0; a < rank; ++a) {
    std::uint64_t behind = 1;  // starts of the axes after this one
    for (std::size_t b = a + 1; b < rank; ++b) behind *= volume.starts[b];
    const std::uint64_t unit = section * behind, starts = volume.starts[a], width = options().visit.cell[a];
    std::uint64_t x = left / unit;
    if (backwards) x = starts - 1 - x;
    const std::uint64_t i = std::min(x / width, volume.cells[a] - 1);
    const std::uint64_t first = i * width, end = i + 1 == volume.cells[a] ? starts : first + width;
    cell.first[a] = first;
    cell.count[a] = end - first;
    left -= (backwards ? starts - end : first) * unit;
    section *= end - first;
    backwards ^= i % 2 == 1;
  }
  return cell;
}

BoxPlace EvenVisits::start_of(const Draw& draw) const {
  __extension__ using uint128 = unsigned __int128;
  const std::size_t rank = options().visit.rank;
  // In volumes of which a visit takes fewer boxes of a cell it goes on in other cells of such volumes.
  const Kind& kind = *std::ranges::upper_bound(kinds_, draw.place, {}, &Kind::end);
  const std::uint64_t groups = options().visit.num_boxes() / kind.boxes, length = kind.end - kind.begin;
  const std::uint64_t group = draw.box / kind.boxes;
  std::uint64_t on_line =
      draw.place - kind.begin + static_cast<std::uint64_t>(static_cast<uint128>(group) * length / groups);
  if (on_line >= length) on_line -= length;
  const Cell cell = cell_at(kind.begin + on_line);

  KeyedRandom offset(RandomKey::of({draw.draws.seed, draw.draws.epoch, kOffset, draw.visit, group}));
  BoxPlace place{cell.volume, {}};
  for (std::size_t a = 0; a < rank; ++a) place.start[a] = offset.below(cell.count[a]);  // o
  std::uint64_t box = draw.box % kind.boxes;
  for (std::size_t a = rank; a-- > 0; box /= cell.boxes[a])
    place.start[a] = cell.first[a] + (place.start[a] + box % cell.boxes[a] * cell.count[a]) / cell.boxes[a];
  return place;
}

}  // namespace headrace
