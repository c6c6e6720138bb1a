#include "catalog/samples/balanced_visits.h"

#include <algorithm>
#include <numeric>

#include "base/random/philox.h"

namespace headrace {
namespace {

constexpr std::uint64_t kOfVisit = 45, kOfBox = 46;  // after those of visit_starts.cpp and even_visits.cpp
constexpr std::uint64_t kLine = std::uint64_t{1} << 62;

std::uint64_t scaled(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  __extension__ using uint128 = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<uint128>(a) * b / c);
}

}  // namespace

BalancedVisits::BalancedVisits(Options given, const Axes& block, std::vector<ClassBlocks> classes)
    : VisitStarts(std::move(given)), block_(block), class_length_(kLine / classes.size()) {
  const std::size_t rank = options().visit.rank;
  const auto cell_of = [&](const ClassBlocks::Block& b) {
    Axes cell = block_start({b.volume, b.number});
    for (std::size_t a = 0; a < rank; ++a) cell[a] /= options().visit.cell[a];
    return std::pair(b.volume, cell);
  };
  std::size_t all = 0;
  for (const ClassBlocks& one : classes) all += one.blocks.size();
  entries_.reserve(all);
  ends_.reserve(all);
  std::uint64_t voxels = 0;
  for (ClassBlocks& one : classes) {
    std::vector<ClassBlocks::Block> blocks = std::move(one.blocks);
    std::ranges::sort(blocks, {}, [&](const ClassBlocks::Block& b) { return std::pair(cell_of(b), b.number); });
    Class& made = classes_.emplace_back();
    made.begin = static_cast<std::uint32_t>(entries_.size());
    made.voxels_before = voxels;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (i == 0 || cell_of(blocks[i]) != cell_of(blocks[i - 1]))
        cell_begins_.push_back(static_cast<std::uint32_t>(entries_.size()));
      entries_.push_back({blocks[i].volume, blocks[i].number});
      ends_.push_back(voxels += blocks[i].voxels);
    }
    made.end = static_cast<std::uint32_t>(entries_.size());
    made.voxels = voxels - made.voxels_before;
  }
  cell_begins_.push_back(static_cast<std::uint32_t>(entries_.size()));
}

std::uint64_t BalancedVisits::memory_bytes() const {
  return VisitStarts::memory_bytes() + entries_.capacity() * (sizeof(Entry) + sizeof(std::uint64_t)) +
         cell_begins_.capacity() * sizeof(std::uint32_t) + classes_.capacity() * sizeof(Class);
}

std::uint32_t BalancedVisits::entry_of(std::uint64_t voxel) const {
  return static_cast<std::uint32_t>(std::ranges::upper_bound(ends_, voxel) - ends_.begin());
}

Axes BalancedVisits::block_start(const Entry& entry) const {
  Axes start{};
  std::uint64_t left = entry.number;
  for (std::size_t a = options().visit.rank; a-- > 0;) {
    const std::uint64_t along = blocks_along(options().shapes[entry.volume][a], block_[a]);
    start[a] = left % along * block_[a];
    left /= along;
  }
  return start;
}

BoxPlace BalancedVisits::start_of(const Draw& draw) const {
  const Class& of = classes_[std::min<std::uint64_t>(draw.place / class_length_, classes_.size() - 1)];
  const std::uint64_t voxel = of.voxels_before + scaled(draw.place % class_length_, of.voxels, class_length_);
  // The cell of that voxel, and one of the k voxels that the visit takes of it.
  const auto next = std::ranges::upper_bound(cell_begins_, entry_of(voxel));
  const std::uint32_t begin = *std::prev(next), end = *next;
  const std::uint64_t before = begin == 0 ? 0 : ends_[begin - 1], voxels = ends_[end - 1] - before;
  KeyedRandom of_visit(RandomKey::of({draw.draws.seed, draw.draws.epoch, kOfVisit, draw.visit}));
  const std::uint64_t o = of_visit.below(voxels), k = options().visit.num_boxes();
  const Entry entry = entries_[entry_of(before + (o + draw.box * voxels) / k)];

  KeyedRandom of_box(RandomKey::of({draw.draws.seed, draw.draws.epoch, kOfBox, draw.visit, draw.box}));
  const Axes block = block_start(entry);
  BoxPlace place{entry.volume, {}};
  for (std::size_t a = 0; a < options().visit.rank; ++a) {
    const std::uint64_t extent = options().shapes[entry.volume][a], half = options().box[a] / 2;
    const std::uint64_t centre = block[a] + of_box.below(std::min(block_[a], extent - block[a]));
    place.start[a] = std::min(centre - std::min(centre, half), starts_along(entry.volume, a) - 1);
  }
  return place;
}

}  // namespace headrace
