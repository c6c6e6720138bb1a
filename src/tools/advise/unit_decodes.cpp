#include "tools/advise/unit_decodes.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "loader/plan/window_decodes.h"

namespace headrace {
namespace {

constexpr std::uint64_t kMostPartsSeen = 1 << 20;
constexpr std::uint32_t kUnitLooks = 4096;  // units of which the bytes are summed
// A claim comes up to a quarter of the window ahead of need where nothing tells a unit's last request: what is left.
constexpr double kAheadShare = 0.75;

/// Do samples of the epoch have parts in a unit?
bool is_wanted(const SampleMap& map, std::uint32_t unit, std::vector<std::uint32_t>& blocks) {
  if (map.draws_samples()) return true;
  blocks.clear();
  map.blocks_of(unit, blocks);
  return !blocks.empty();
}

double bytes_of_units(const MappedSource& mapped) {
  const std::uint64_t units = mapped.map->num_units(), looks = std::min<std::uint64_t>(units, kUnitLooks);
  double bytes = 0;
  std::vector<std::uint32_t> blocks;
  for (std::uint64_t i = 0; i < looks; ++i) {
    const auto unit = static_cast<std::uint32_t>((2 * i + 1) * units / (2 * looks));
    if (is_wanted(*mapped.map, unit, blocks)) bytes += static_cast<double>(unit_bytes(mapped, unit));
  }
  return bytes * static_cast<double>(units) / static_cast<double>(std::max<std::uint64_t>(looks, 1));
}

/// Return the bytes that are decoded for a sample, by what the first steps claim. Where more steps follow, a claim of
/// the last ones serves these too: the part of it counts that is looked at. \param served_steps  That a claim serves.
double bytes_a_sample(const std::vector<double>& bytes_of_step, double samples, bool is_whole,
                      std::uint64_t served_steps) {
  double bytes = 0;
  for (std::size_t s = 0; s < bytes_of_step.size(); ++s) {
    const double seen =
        static_cast<double>(bytes_of_step.size() - s) / static_cast<double>(std::max<std::uint64_t>(served_steps, 1));
    bytes += bytes_of_step[s] * (is_whole ? 1 : std::min(seen, 1.0));
  }
  return bytes / std::max(samples, 1.0);
}

/// Claims of units, in the order of the steps: a claim serves what the steps of a window ask for, and decodes the
/// chunks that hold any of it.
class UnitClaims {
 public:
  UnitClaims(const MappedSource& mapped, const EnginePlan& plan) : mapped_(mapped) {
    const bool knows_last = mapped.map->block_units() != SampleMap::BlockUnits::kUnknown;
    // A consumer has a batch in its hands when units are claimed.
    const double slots = static_cast<double>(std::max<std::uint64_t>(plan.slots, 2)) - 1;
    window_ = std::max<std::uint64_t>(static_cast<std::uint64_t>(slots * (knows_last ? 1 : kAheadShare)), 1);
  }
  [[nodiscard]] std::uint64_t window() const { return window_; }
  /// Return the bytes of all that was decoded, each chunk once.
  [[nodiscard]] double bytes_once() const { return bytes_once_; }
  /// Return the bytes that are decoded for the parts of a step.
  double add(std::uint64_t step, const std::vector<Part>& parts) {
    bytes_ = 0;
    for (const Part& part : parts) {
      Unit& unit = units_[part.unit];
      if (step >= unit.served_until) ++unit.claims, unit.served_until = step + window_;
      if (mapped_.boxes)
        decode({part.unit, 0, 0}, unit.claims, [&] { return unit_bytes(mapped_, part.unit); });
      else
        decode_rows(part, unit.claims);
    }
    return bytes_;
  }

 private:
  struct Unit {
    std::uint64_t served_until = 0;
    std::uint32_t claims = 0;
  };
  struct Chunk {
    std::uint32_t unit, array;
    std::uint64_t number;  ///< In its file.
    bool operator==(const Chunk&) const = default;
  };
  struct HashOfChunk {
    std::size_t operator()(const Chunk& c) const {
      return (std::size_t{c.unit} * 31 + c.array) * std::size_t{0x9E3779B97F4A7C15} + c.number;
    }
  };
  template <class Bytes>
  void decode(const Chunk& chunk, std::uint32_t claim, Bytes bytes) {
    auto [at, is_new] = decoded_.try_emplace(chunk, 0);
    if (at->second == claim) return;
    at->second = claim;
    const auto size = static_cast<double>(bytes());
    bytes_ += size;
    if (is_new) bytes_once_ += size;
  }
  void decode_rows(const Part& part, std::uint32_t claim) {
    const SampleMap::GroupUnit at = mapped_.map->group_of(part.unit);
    const SourceGroup& group = mapped_.groups[at.group];
    const BlockTable::FileRows place = group.layout.table->place(at.unit);
    const auto& arrays = group.source->files[place.file].arrays;
    for (std::uint32_t a = 0; a < arrays.size(); ++a) {
      const ArrayInfo& info = arrays[a]->info();
      if (info.chunk_shape.empty() || part.count == 0) continue;
      const std::uint64_t rows = std::max<std::uint64_t>(info.rows_for_one(), 1), first = place.rows.first + part.row;
      for (std::uint64_t chunk = first / rows; chunk <= (first + part.count - 1) / rows; ++chunk)
        decode({part.unit, a, chunk}, claim,
               [&] { return rows_in(place.rows, chunk * rows, rows) * info.row_record_bytes(); });
    }
  }
  /// Return how many of `count` rows from `first` on are rows of the block.
  static std::uint64_t rows_in(RowRange block, std::uint64_t first, std::uint64_t count) {
    return std::min(block.end(), first + count) - std::max(block.first, first);
  }

  const MappedSource& mapped_;
  std::uint64_t window_ = 1;
  std::unordered_map<std::uint32_t, Unit> units_;
  std::unordered_map<Chunk, std::uint32_t, HashOfChunk> decoded_;  // by which claim of the unit last
  double bytes_ = 0, bytes_once_ = 0;
};

}  // namespace

std::uint64_t unit_bytes(const MappedSource& mapped, std::uint32_t unit) {
  const SampleMap::GroupUnit at = mapped.map->group_of(unit);
  const SourceGroup& group = mapped.groups[at.group];
  if (mapped.boxes) {
    const BoxMap::Volume& volume = mapped.boxes->volumes()[mapped.boxes->cell_of(at.group, at.unit).volume];
    const CellGrid& grid = volume.grids[at.group];
    if (!cells_are_decoded(grid, *group.source->files[volume.file].arrays[0])) return 0;
    return grid.cell_elements() * grid.element_bytes;
  }
  const BlockTable::FileRows place = group.layout.table->place(at.unit);
  std::uint64_t row_bytes = 0;
  for (const auto& array : group.source->files[place.file].arrays)
    if (!array->info().chunk_shape.empty()) row_bytes += array->info().row_record_bytes();
  return row_bytes * place.rows.count;
}

double unit_decodes(const SampleSource& source, const EnginePlan& plan) {
  const MappedSource* const mapped = source.mapped();
  if (mapped == nullptr) return window_decodes(plan);
  if (plan.online || !plan.steps->is_settled(0, 0)) return plan.expected_decodes();
  UnitClaims claims(*mapped, plan);
  std::vector<double> bytes_of_step;
  std::vector<SampleRef> samples;
  std::vector<BlockRows> counted_elsewhere;
  std::vector<Part> parts;
  std::vector<std::uint32_t> ends;
  const auto cursor = plan.steps->cursor(0, 0);
  std::uint64_t looked_at = 0, num_samples = 0;
  bool is_whole = plan.steps->ends_at(0, 0);
  for (bool counted = true; !is_whole && looked_at < kMostPartsSeen;) {
    samples.clear(), counted_elsewhere.clear(), parts.clear(), ends.clear();
    is_whole = cursor->next(samples, counted_elsewhere, counted).last;
    mapped->map->expand(samples, {0, plan.seed}, parts, ends);
    bytes_of_step.push_back(claims.add(bytes_of_step.size(), parts));
    num_samples += samples.size();
    looked_at += std::max(parts.size(), samples.size());
  }
  const bool has_every_unit =
      is_whole && !mapped->map->draws_samples() && plan.share.world_size == 1 && plan.sampler->traits().permutation;
  const double once = has_every_unit ? claims.bytes_once() : bytes_of_units(*mapped);
  if (once <= 0) return 1;
  // Samples of a block come within the order's span; what is drawn anywhere comes as long as the window is.
  const std::uint64_t span =
      plan.draws_samples() ? plan.boxes->visits() ? plan.visit_slots() : claims.window() : plan.steps->span_steps();
  return bytes_a_sample(bytes_of_step, static_cast<double>(num_samples), is_whole, std::min(claims.window(), span)) *
         static_cast<double>(plan.sampler->num_samples()) / once;
}

}  // namespace headrace
