#include "catalog/visit_starts.h"

#include <algorithm>

#include "base/philox.h"

namespace headrace {
namespace {

/// Keys of one seed and epoch differ by such numbers; see box_starts.cpp and order/key_use.h.
constexpr std::uint64_t kShift = 41, kJitter = 42, kOffset = 43;

/// floor(a * b / c)
std::uint64_t part_of(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  __extension__ using uint128 = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<uint128>(a) * b / c);
}

}  // namespace

VisitStarts::VisitStarts(Options options) : options_(std::move(options)) {
  for (std::uint32_t v = 0; v < options_.shapes.size(); ++v) volumes_.push_back(volume_of(v));
  const auto boxes_of = [&](const Volume& volume) {
    std::uint64_t n = 1;
    for (std::size_t a = 0; a < options_.visit.rank; ++a) n *= volume.boxes[a];
    return n;
  };
  std::ranges::stable_sort(volumes_, std::ranges::greater{}, boxes_of);
  std::uint64_t end = 0;
  for (const Volume& volume : volumes_) {
    std::uint64_t starts = 1;
    for (std::size_t a = 0; a < options_.visit.rank; ++a) starts *= volume.starts[a];
    if (kinds_.empty() || kinds_.back().boxes != boxes_of(volume)) kinds_.push_back({end, end, boxes_of(volume)});
    kinds_.back().end = end += starts;
    ends_.push_back(end);
  }
  const std::uint64_t boxes = options_.visit.num_boxes();
  visits_ = (options_.samples + boxes - 1) / boxes | 1;
  visits_ = std::max<std::uint64_t>(std::min(visits_, options_.samples), 1);  // none without a sample
}

VisitStarts::Volume VisitStarts::volume_of(std::uint32_t number) const {
  Volume volume{number, {}, {}, {}};
  for (std::size_t a = 0; a < options_.visit.rank; ++a) {
    const std::uint64_t box = options_.box[a], cell = options_.visit.cell[a], boxes = options_.visit.boxes[a];
    const std::uint64_t starts = volume.starts[a] = options_.shapes[number][a] - box + 1;
    volume.cells[a] = std::max<std::uint64_t>((starts + cell / 2) / cell, 1);
    volume.boxes[a] = starts < boxes * box / 4 ? 1 : boxes;
  }
  return volume;
}

std::uint64_t VisitStarts::memory_bytes() const {
  return volumes_.capacity() * sizeof(Volume) + options_.shapes.capacity() * sizeof(Axes) +
         ends_.capacity() * sizeof(ends_[0]);
}

std::vector<std::uint64_t> VisitStarts::home_ends() const {
  std::vector<std::uint64_t> ends(visits_);
  for (std::uint64_t j = 0; j < visits_; ++j) ends[j] = part_of(j + 1, options_.samples, visits_);
  return ends;
}

std::size_t VisitStarts::at_line(std::uint64_t place) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(ends_, place) - ends_.begin());
}

VisitStarts::Cell VisitStarts::cell_at(std::uint64_t place) const {
  const std::size_t rank = options_.visit.rank, at = at_line(place);
  const Volume& volume = volumes_[at];
  Cell cell{volume.number, {}, {}, volume.boxes};
  std::uint64_t left = place - (at == 0 ? 0 : ends_[at - 1]);
  std::uint64_t section = 1;  // starts of what was settled so far: a slab, then a row of cells
  bool backwards = false;
  for (std::size_t a = 0; a < rank; ++a) {
    std::uint64_t behind = 1;  // starts of the axes after this one
    for (std::size_t b = a + 1; b < rank; ++b) behind *= volume.starts[b];
    const std::uint64_t unit = section * behind, starts = volume.starts[a], width = options_.visit.cell[a];
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

std::uint64_t VisitStarts::box_of(std::uint64_t sample, EpochSeed draws) const {
  __extension__ using uint128 = unsigned __int128;
  const auto visit = static_cast<std::uint64_t>(((static_cast<uint128>(sample) + 1) * visits_ - 1) / options_.samples);
  const std::uint64_t row = sample - part_of(visit, options_.samples, visits_), total = num_starts();
  const std::uint64_t shift = KeyedRandom(RandomKey::of({draws.seed, draws.epoch, kShift})).below(total);
  const std::uint64_t first = part_of(visit, total, visits_), room = part_of(visit + 1, total, visits_) - first;
  KeyedRandom jitter(RandomKey::of({draws.seed, draws.epoch, kJitter, visit}));
  std::uint64_t place = first + (room > 0 ? jitter.below(room) : 0);
  place = place >= total - shift ? place - (total - shift) : place + shift;

  const std::uint64_t boxes = options_.visit.num_boxes();
  std::uint64_t box = (row + jitter.below(boxes)) % boxes;  // orders permute a visit's rows
  // In volumes of which a visit takes fewer boxes of a cell it goes on in other cells of such volumes.
  const Kind& kind = *std::ranges::upper_bound(kinds_, place, {}, &Kind::end);
  const std::uint64_t group = box / kind.boxes, groups = boxes / kind.boxes, length = kind.end - kind.begin;
  box %= kind.boxes;
  std::uint64_t on_line = place - kind.begin + part_of(group, length, groups);
  if (on_line >= length) on_line -= length;
  const Cell cell = cell_at(kind.begin + on_line);

  KeyedRandom offset(RandomKey::of({draws.seed, draws.epoch, kOffset, visit, group}));
  Axes start{};
  for (std::size_t a = 0; a < options_.visit.rank; ++a) start[a] = offset.below(cell.count[a]);  // o
  for (std::size_t a = options_.visit.rank; a-- > 0; box /= cell.boxes[a])
    start[a] = cell.first[a] + (start[a] + box % cell.boxes[a] * cell.count[a]) / cell.boxes[a];
  const std::size_t at = at_line(kind.begin + on_line);
  std::uint64_t number = 0;
  for (std::size_t a = 0; a < options_.visit.rank; ++a) number = number * volumes_[at].starts[a] + start[a];
  return (at == 0 ? 0 : ends_[at - 1]) + number;
}

BoxPlace VisitStarts::place_of(std::uint64_t box) const {
  const std::size_t at = at_line(box);
  const Volume& volume = volumes_[at];
  BoxPlace place{volume.number, {}};
  if (at > 0) box -= ends_[at - 1];
  for (std::size_t a = options_.visit.rank; a-- > 0; box /= volume.starts[a]) place.start[a] = box % volume.starts[a];
  return place;
}

}  // namespace headrace
