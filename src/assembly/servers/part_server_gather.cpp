// The part of PartServer that gathers whole batches from a store of all rows, and fills it as they ask for its blocks.
#include <algorithm>
#include <cmath>
#include <limits>

#include "assembly/servers/missing_blocks.h"
#include "assembly/servers/part_server.h"

namespace headrace {
namespace {

constexpr std::uint32_t kServed = ~std::uint32_t{0};  // in place of a position

}  // namespace

std::span<const RowFailure> PartServer::gather(const Claim& claim, RowDigest& digest, EpochBlocks& asked,
                                               const std::atomic<bool>& cancelled) {
  failures_.clear();
  const WindowSlot& slot = *claim.runs[0].slot;
  const StepContent& c = slot.content;
  for (const GroupServer& of : servers_) {
    find_parts(of, slot);
    find_stretches(c.parts);
    asked.ask(claim.epoch, stretches_,
              [&](std::uint32_t unit) { return of.rows->needed_bytes(task_of(of, unit, true)); });
    const RowRun run{slot.memory->fields.data() + of.first_array, 0, static_cast<std::uint32_t>(c.parts.size()),
                     first_place_of(c.step), &digest};
    if (!of.store->all_checked()) check_stretches(of);
    if (!of.store->complete() || decoded_cache_->damaged.any()) decode_missing(of, slot, run, cancelled);
    for (const Stretch& s : stretches_)
      if (s.first) of.rows->count_kept(task_of(of, s.unit, true));
    put_gathered(of, slot, run);
  }
  return failures_;
}

std::span<const RowFailure> PartServer::keep(std::uint32_t unit, const std::atomic<bool>& cancelled) {
  const SampleMap::GroupUnit at = mapped_.map->group_of(unit);
  const GroupServer& of = servers_[at.group];
  if (cells_) {
    failures_.clear();
    Claim claim;
    claim.unit = unit;
    claim.ahead = true;
    cells_->serve(claim, at, of.first_array, {}, failures_, cancelled);
    return failures_;
  }
  BlockTask task = task_of(of, unit, true);
  task.moment.ahead = true;
  return of.rows->serve(task, {}, cancelled);
}

/// List the batch's parts of a group by row.
void PartServer::find_parts(const GroupServer& of, const WindowSlot& slot) {
  const StepContent& c = slot.content;
  const std::vector<std::uint64_t>& block_starts = of.store->layout().block_starts;
  gathered_.clear();
  std::uint32_t part = 0;
  for (std::uint32_t position = 0; position < slot.rows; ++position)
    for (; part < c.part_ends[position]; ++part) {
      const Part& p = c.parts[part];
      if (p.unit < of.first_unit || p.unit >= of.end_unit) continue;
      gathered_.push_back(
          {block_starts[p.unit - of.first_unit] + p.row, c.starts[of.group][position] + p.place, part, position});
    }
  std::ranges::sort(gathered_, {}, &GatheredPart::row);
}

/// Find what of the batch lies in each block.
void PartServer::find_stretches(const std::vector<Part>& parts) {
  stretches_.clear();
  for (std::size_t begin = 0, end; begin < gathered_.size(); begin = end) {
    const std::uint32_t unit = parts[gathered_[begin].part].unit;
    for (end = begin + 1; end < gathered_.size() && parts[gathered_[end].part].unit == unit;) ++end;
    stretches_.push_back({unit, false, begin, end});
  }
}

/// Compare blocks of files that another run wrote with their checksums: a damaged one is not in the store any more.
void PartServer::check_stretches(const GroupServer& of) {
  for (const Stretch& s : stretches_) {
    const std::uint32_t block = s.unit - of.first_unit;
    if (!of.store->ready(block)) continue;
    if (const Status sound = of.store->check(block); !sound.ok())
      decoded_cache_->notice(DecodedCache::text_of(sound.error(), "The rows are read from their own file instead."));
  }
}

/// Serve this batch's parts of blocks that are not in the store, or not whole, which are no longer in `stretches_` and
/// `gathered_` then.
void PartServer::decode_missing(const GroupServer& of, const WindowSlot& slot, RowRun run,
                                const std::atomic<bool>& cancelled) {
  const auto missing = std::stable_partition(stretches_.begin(), stretches_.end(), [&](const Stretch& s) {
    const std::uint32_t block = s.unit - of.first_unit;
    return of.store->ready(block) && decoded_cache_->damaged.of(of.group, block) == nullptr;
  });
  for (auto s = missing; ahead_ && s != stretches_.end(); ++s) ahead_->complete(s->unit, slot.sequence);
  const auto ahead = [&](std::uint64_t block) {
    const auto unit = static_cast<std::uint32_t>(of.first_unit + block);
    if (!has_samples(unit)) return;
    BlockTask task = task_of(of, unit, false);
    task.moment.ahead = true;
    (void)of.rows->serve(task, {}, cancelled);  // what fails is told by the batch that needs it
  };
  serve_missing(
      *of.store, std::span(missing, stretches_.end()), slot.sequence, busy_,
      [&](const Stretch& s) { return std::uint64_t{s.unit - of.first_unit}; },
      [&](const Stretch& s) { serve_stretch(of, slot, s, run, cancelled); }, ahead, cancelled);
  stretches_.erase(missing, stretches_.end());
  std::erase_if(gathered_, [](const GatheredPart& g) { return g.position == kServed; });
}

BlockTask PartServer::task_of(const GroupServer& of, std::uint32_t unit, bool first) const {
  const std::uint32_t block = unit - of.first_unit;
  const BlockTable::FileRows place = mapped_.groups[of.group].layout.table->place(block);
  return {block, place.file, place.rows, first, 0, {}};
}

/// True if some sample that may be delivered has rows in a block.
bool PartServer::has_samples(std::uint32_t unit) {
  blocks_.clear();
  mapped_.map->blocks_of(unit, blocks_);
  return !blocks_.empty();
}

/// Decode a block into the store, and serve the parts that the batch has in it.
void PartServer::serve_stretch(const GroupServer& of, const WindowSlot& slot, const Stretch& stretch, RowRun run,
                               const std::atomic<bool>& cancelled) {
  const std::vector<Part>& parts = slot.content.parts;
  const std::uint64_t block_row = of.store->layout().block_starts[stretch.unit - of.first_unit];
  moves_.clear();
  std::uint32_t longest = 1;
  for (std::size_t g = stretch.begin; g < stretch.end; ++g) {
    const std::uint32_t count = parts[gathered_[g].part].count;
    moves_.push_back({static_cast<std::uint32_t>(gathered_[g].row - block_row), count, gathered_[g].place, 0});
    longest = std::max(longest, count);
  }
  for (const RowFailure& f :
       of.rows->serve(task_of(of, stretch.unit, stretch.first), {{}, moves_, {&run, 1}, longest, false}, cancelled))
    for (std::size_t g = stretch.begin; g < stretch.end; ++g) {
      const Part& part = parts[gathered_[g].part];
      if (part.row < f.rows.end() && part.row + part.count > f.rows.first)
        note_failure(f, slot, gathered_[g].part, gathered_[g].position);
    }
  for (std::size_t g = stretch.begin; g < stretch.end; ++g) gathered_[g].position = kServed;
}

/// Copy what is left of the batch from the store, in stretches that 32 bits number.
void PartServer::put_gathered(const GroupServer& of, const WindowSlot& slot, RowRun run) {
  const std::vector<Part>& parts = slot.content.parts;
  for (std::size_t begin = 0, end; begin < gathered_.size(); begin = end) {
    const std::uint64_t first_row = gathered_[begin].row;
    moves_.clear();
    std::uint32_t longest = 1;
    for (end = begin; end < gathered_.size(); ++end) {
      const std::uint64_t row = gathered_[end].row - first_row;
      if (row > std::numeric_limits<std::uint32_t>::max()) break;
      const std::uint32_t count = parts[gathered_[end].part].count;
      moves_.push_back({static_cast<std::uint32_t>(row), count, gathered_[end].place, 0});
      longest = std::max(longest, count);
    }
    for (const RowFailure& f : of.rows->gather(first_row, {{}, moves_, {&run, 1}, longest, false}))
      for (std::size_t g = begin; g < end; ++g) {
        const std::uint64_t row = gathered_[g].row - first_row, count = parts[gathered_[g].part].count;
        if (row < f.rows.end() && row + count > f.rows.first)
          note_failure(f, slot, gathered_[g].part, gathered_[g].position);
      }
  }
}

}  // namespace headrace
