#include "loader/plan/cell_replay.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/memory/page_buffer.h"
#include "delivery/slot_pool.h"

namespace headrace {
namespace {

constexpr std::uint64_t kMostSamples = 4096, kMostCells = 1 << 16;
constexpr std::uint32_t kNever = ~std::uint32_t{0};

}  // namespace

CellReplay::CellReplay(const MappedSource& mapped, const EnginePlan& plan)
    : batch_(std::max<std::uint64_t>(plan.mean_rows(), 1)) {
  const BoxMap& map = *plan.boxes;
  const auto cursor = plan.sampler->cursor({0, 0, std::max<std::uint64_t>(plan.global_batch, 1), plan.share});
  std::unordered_map<std::uint32_t, std::uint32_t> number_of;  // unit → cell
  std::vector<SampleRef> samples;
  std::vector<BlockRows> counted_elsewhere;
  std::vector<Part> parts;
  std::vector<std::uint32_t> ends;
  std::uint64_t needs = 0;
  for (std::uint64_t step = 0; step < plan.num_batches && samples_ < kMostSamples && needs < kMostCells; ++step) {
    samples.clear(), counted_elsewhere.clear(), parts.clear(), ends.clear();
    cursor->next_step(samples, counted_elsewhere);
    map.expand(samples, {0, plan.seed}, parts, ends);
    std::size_t part = 0;
    for (const std::uint32_t end : ends) {
      std::vector<std::uint32_t>& need = needs_.emplace_back();
      for (; part < end; ++part) {
        const auto [known, is_new] = number_of.try_emplace(parts[part].unit, static_cast<std::uint32_t>(cells_.size()));
        if (is_new) {
          const SampleMap::GroupUnit at = map.group_of(parts[part].unit);
          const BoxMap::Volume& volume = map.volumes()[map.cell_of(at.group, at.unit).volume];
          const CellGrid& grid = volume.grids[at.group];
          const bool decodes = cells_are_decoded(grid, *mapped.groups[at.group].source->files[volume.file].arrays[0]);
          cells_.push_back({decodes ? PageBuffer::charge_for(grid.cell_elements() * grid.element_bytes) : 0, {}});
        }
        Cell& cell = cells_[known->second];
        if (cell.bytes == 0) continue;
        cell.users.push_back(static_cast<std::uint32_t>(samples_));
        need.push_back(known->second);
        ++needs;
      }
      ++samples_;
    }
  }
}

double CellReplay::decoded_bytes(std::uint64_t slots, std::uint64_t cache_bytes) const {
  if (samples_ == 0) return 0;
  const std::uint64_t waiting = (slots - std::min(slots, SlotPool::kHeldSlots)) * batch_;
  std::vector<std::uint32_t> served(cells_.size(), 0);      // samples before this one have the cell's boxes
  std::vector<std::uint32_t> kept_until(cells_.size(), 0);  // next use of what is kept
  std::vector<bool> is_kept(cells_.size(), false);
  std::set<std::pair<std::uint32_t, std::uint32_t>> by_use;
  std::uint64_t kept_bytes = 0, decoded_bytes = 0;
  for (std::uint32_t sample = 0; sample < samples_; ++sample) {
    // The window moves by whole batches.
    const auto end = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(sample / batch_ * batch_ + std::max(waiting, batch_), kNever - 1));
    for (const std::uint32_t c : needs_[sample]) {
      if (sample < served[c]) continue;
      const Cell& cell = cells_[c];
      served[c] = end;
      const auto next = std::ranges::lower_bound(cell.users, end);
      const std::uint32_t next_use = next == cell.users.end() ? kNever : *next;
      if (is_kept[c])
        by_use.erase({kept_until[c], c});
      else
        decoded_bytes += cell.bytes;
      if (!is_kept[c]) kept_bytes += cell.bytes;
      is_kept[c] = true, kept_until[c] = next_use;
      by_use.insert({next_use, c});
      while (kept_bytes > cache_bytes) {
        const std::uint32_t last = std::prev(by_use.end())->second;
        by_use.erase(std::prev(by_use.end()));
        is_kept[last] = false;
        kept_bytes -= cells_[last].bytes;
      }
    }
  }
  return static_cast<double>(decoded_bytes) / static_cast<double>(samples_);
}

}  // namespace headrace
