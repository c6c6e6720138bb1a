#include "assembly/part_server.h"

#include <algorithm>

namespace headrace {

PartServer::PartServer(const MappedSource& mapped, DecodeCounters& counters) : mapped_(mapped) {
  if (mapped.boxes) cells_.emplace(*mapped.boxes, mapped.groups, counters);
  std::size_t first_column = 0;
  for (const SourceGroup& group : mapped.groups) {
    GroupServer& server = servers_.emplace_back();
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
  if (cells_)
    cells_->set_decoded_cache(decoded_cache);
  else
    servers_[0].rows->set_decoded_cache(decoded_cache);
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
  const BlockTable& homes = *mapped_.map->shuffle_blocks();
  return homes.stored_rows(sample.block).first +
         (homes.is_chosen() ? homes.stored_row(sample.block, sample.row) : sample.row);
}

/// Parts become moves by ascending row, which the pieces of the unit find by order.
void PartServer::serve_rows(const Claim& claim, std::span<RowDigest> digests, SampleMap::GroupUnit at,
                            const std::atomic<bool>& cancelled) {
  const GroupServer& server = servers_[at.group];
  runs_.clear();
  found_.clear();
  by_row_.clear();
  std::uint32_t longest = 1;
  for (std::uint32_t run = 0; run < claim.runs.size(); ++run) {
    const SlotRun& r = claim.runs[run];
    const StepContent& content = r.slot->content;
    runs_.push_back({r.slot->memory->fields.data() + server.first_array, r.begin, r.end, first_place_of(content.step),
                     &digests[run]});
    for (std::uint32_t i = r.begin; i < r.end; ++i) {
      const Part& part = content.parts[claim.requests[i].item];
      const std::uint64_t start = content.starts[at.group][claim.requests[i].position];
      by_row_.push_back(std::uint64_t{part.row} << 32 | found_.size());
      found_.push_back({part.row, part.count, start + part.place, run});
      longest = std::max(longest, part.count);
    }
  }
  std::sort(by_row_.begin(), by_row_.end());  // numbers, for moves are four times as large
  moves_.resize(found_.size());
  for (std::size_t i = 0; i < by_row_.size(); ++i) moves_[i] = found_[static_cast<std::uint32_t>(by_row_[i])];
  const BlockTable::Place place = mapped_.groups[at.group].layout.table->place(at.unit);
  // Uses are as far away for all units: what is kept stays.
  const KeepPolicy::Moment moment{.ahead = claim.ahead, .wanted_again = !claim.last, .starting = claim.starting};
  const auto failed = server.rows->serve({at.unit, place.file, place.rows, claim.first, 0, moment},
                                         {{}, moves_, runs_, longest, false}, cancelled);
  for (const RowFailure& f : failed)
    for (const SlotRun& r : claim.runs)
      for (std::uint32_t i = r.begin; i < r.end; ++i) {
        const Part& part = r.slot->content.parts[claim.requests[i].item];
        if (part.row >= f.rows.end() || part.row + part.count <= f.rows.first) continue;
        failures_.push_back({{claim.requests[i].item, 1}, f.error, r.slot});
        // What a transform could not take is told by the sample, what was not decoded by its chunk.
        Error& error = failures_.back().error;
        if (error.file().empty() && error.chunk().empty())
          error = at_sample(f.error, number_of(*r.slot, claim.requests[i].position));
      }
}

}  // namespace headrace
