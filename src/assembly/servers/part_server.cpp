#include "assembly/servers/part_server.h"

#include <algorithm>

namespace headrace {
namespace {

constexpr std::size_t kSlotsAhead = 16, kPartsAhead = 8;  // batches of a claim that are on their way from memory

}  // namespace

PartServer::PartServer(const MappedSource& mapped, DecodeCounters& counters) : mapped_(mapped) {
  if (mapped.boxes) cells_.emplace(*mapped.boxes, mapped.groups, counters);
  std::size_t first_column = 0;
  std::uint32_t first_unit = 0;
  for (const SourceGroup& group : mapped.groups) {
    const auto number = static_cast<std::uint32_t>(servers_.size());
    GroupServer& server = servers_.emplace_back();
    server.group = number;
    server.first_unit = first_unit;
    server.end_unit = first_unit += mapped.map->groups()[number].num_units;
    // Transforms say where each column goes; rows ask them themselves.
    if (!mapped.program) server.first_array = first_column;
    if (mapped.boxes && mapped.program) server.first_array = mapped.program->target(first_column).array;
    if (!mapped.boxes)
      server.rows = std::make_unique<BlockServer>(*group.source, group.layout, no_residents_, no_side_chunks_, counters,
                                                  mapped.program, first_column);
    first_column += group.source->columns->size();
  }
}

void PartServer::set_decoded_cache(DecodedCache* decoded_cache) {
  if (cells_) return cells_->set_decoded_cache(decoded_cache);
  decoded_cache_ = decoded_cache;
  const RowStores* const stores = decoded_cache->rows.get();
  for (std::size_t g = 0; g < (stores ? stores->size() : 1); ++g) {
    servers_[g].store = stores ? &(*stores)[g] : nullptr;
    servers_[g].rows->set_decoded_cache(decoded_cache, g);
  }
}

void PartServer::set_reads_ahead(ReadsAhead* ahead) {
  ahead_ = ahead;
  if (cells_) return cells_->set_reads_ahead(ahead);
  for (GroupServer& server : servers_) server.rows->set_reads_ahead(ahead, server.first_unit);
}

Status PartServer::prepare() {
  if (cells_) return cells_->prepare();
  for (GroupServer& server : servers_) HEADRACE_TRY(server.rows->prepare());
  return {};
}

void PartServer::release() {
  if (cells_) return cells_->release();
  for (GroupServer& server : servers_) server.rows->release();
}

ServerNeed PartServer::need(const MappedSource& mapped) {
  ServerNeed sum;
  if (mapped.boxes) {
    sum = CellServer::need(*mapped.boxes, mapped.groups);
  } else {
    for (const SourceGroup& group : mapped.groups) {
      const PieceDecoder::Need need = PieceDecoder::need(*group.source, group.layout);
      sum.scratch_bytes += need.scratch_bytes;
      sum.read_buffer_bytes += need.read_buffer_bytes;
    }
  }
  if (mapped.program) sum.scratch_bytes += mapped.program->scratch_bytes();
  return sum;
}

std::span<const RowFailure> PartServer::serve(const Claim& claim, std::span<RowDigest> digests,
                                              const std::atomic<bool>& cancelled) {
  failures_.clear();
  const SampleMap::GroupUnit at = mapped_.map->group_of(claim.unit);
  if (cells_)
    cells_->serve(claim, at, servers_[at.group].first_array, digests, failures_, cancelled);
  else
    serve_rows(claim, digests, at, cancelled);
  return failures_;
}

std::uint64_t PartServer::number_of(const WindowSlot& slot, std::uint32_t position) const {
  const SampleRef sample = slot.content.samples[position];
  return mapped_.map->shuffle_blocks()->stored_number(sample.block, sample.row);
}

/// Parts become moves by ascending row, which the pieces of the unit find by order.
void PartServer::serve_rows(const Claim& claim, std::span<RowDigest> digests, SampleMap::GroupUnit at,
                            const std::atomic<bool>& cancelled) {
  const GroupServer& server = servers_[at.group];
  runs_.clear();
  found_.clear();
  by_row_.clear();
  std::uint32_t longest = 1;
  const UnitGroup& group = mapped_.map->groups()[at.group];
  const std::uint64_t fixed_rows = group.rows == UnitGroup::Rows::kFixed ? group.rows_per_sample : 0;
  // Batches are many more than a cache holds, and as a rule have one part here each.
  const auto ask_for = [&](std::size_t run) __attribute__((always_inline)) {
    if (run + kSlotsAhead < claim.runs.size()) {
      const WindowSlot* const later = claim.runs[run + kSlotsAhead].slot;
      __builtin_prefetch(later);
      __builtin_prefetch(reinterpret_cast<const std::byte*>(&later->memory));
    }
    if (run + kPartsAhead >= claim.runs.size()) return;
    const SlotRun& soon = claim.runs[run + kPartsAhead];
    __builtin_prefetch(&soon.slot->content.parts[claim.requests[soon.begin].item]);
    __builtin_prefetch(soon.slot->memory.get());
  };
  for (std::uint32_t run = 0; run < claim.runs.size(); ++run) {
    ask_for(run);
    const SlotRun& r = claim.runs[run];
    const StepContent& content = r.slot->content;
    runs_.push_back({r.slot->memory->fields.data() + server.first_array, r.begin, r.end, first_place_of(content.step),
                     &digests[run]});
    for (std::uint32_t i = r.begin; i < r.end; ++i) {
      const Part& part = content.parts[claim.requests[i].item];
      const std::uint32_t position = claim.requests[i].position;
      const std::uint64_t start = fixed_rows > 0 ? position * fixed_rows : content.starts[at.group][position];
      by_row_.push_back(std::uint64_t{part.row} << 32 | found_.size());
      found_.push_back({part.row, part.count, start + part.place, run});
      longest = std::max(longest, part.count);
    }
  }
  std::sort(by_row_.begin(), by_row_.end());  // numbers, for moves are four times as large
  moves_.resize(found_.size());
  for (std::size_t i = 0; i < by_row_.size(); ++i) moves_[i] = found_[static_cast<std::uint32_t>(by_row_[i])];
  const BlockTable::FileRows place = mapped_.groups[at.group].layout.table->place(at.unit);
  // Uses are as far away for all units: what is kept stays.
  const KeepPolicy::Moment moment{.ahead = claim.ahead, .wanted_again = !claim.last, .starting = claim.starting};
  const auto failed = server.rows->serve({at.unit, place.file, place.rows, claim.first, 0, moment},
                                         {{}, moves_, runs_, longest, false}, cancelled);
  for (const RowFailure& f : failed)
    for (const SlotRun& r : claim.runs)
      for (std::uint32_t i = r.begin; i < r.end; ++i) {
        const Part& part = r.slot->content.parts[claim.requests[i].item];
        if (part.row >= f.rows.end() || part.row + part.count <= f.rows.first) continue;
        note_failure(f, *r.slot, claim.requests[i].item, claim.requests[i].position);
      }
}

/// What a transform could not take is told by the sample, what was not decoded by its chunk.
void PartServer::note_failure(const RowFailure& failure, const WindowSlot& slot, std::uint32_t part,
                              std::uint32_t position) {
  failures_.push_back({{part, 1}, failure.error, &slot});
  Error& error = failures_.back().error;
  if (error.file().empty() && error.chunk().empty()) error = at_sample(failure.error, number_of(slot, position));
}

}  // namespace headrace
