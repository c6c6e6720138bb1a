#include "assembly/part_server.h"

#include <algorithm>

#include "assembly/row_copy.h"

namespace headrace {

PartServer::PartServer(const SampleMap& map, const std::vector<SourceGroup>& groups, const BoxMap* boxes,
                       DecodeCounters& counters)
    : map_(map), groups_(groups), boxes_(boxes), counters_(counters) {
  std::size_t first_field = 0;
  for (const SourceGroup& group : groups) {
    GroupServer& server = servers_.emplace_back();
    server.first_field = first_field;
    first_field += group.source->columns->size();
    if (boxes)
      server.cells = std::make_unique<PieceDecoder>(*group.source, group.layout, counters);
    else
      server.rows = std::make_unique<BlockServer>(*group.source, group.layout, no_residents_, no_side_chunks_, counters,
                                                  group.program);
  }
}

Status PartServer::prepare() {
  for (GroupServer& server : servers_) HEADRACE_TRY(server.rows ? server.rows->prepare() : server.cells->prepare());
  return {};
}

void PartServer::release() {
  for (GroupServer& server : servers_) server.rows ? server.rows->release() : server.cells->release();
}

ServerNeed PartServer::need(const MappedSource& mapped) {
  ServerNeed sum;
  for (const SourceGroup& group : mapped.groups) {
    const PieceDecoder::Need need = PieceDecoder::need(*group.source, group.layout);
    sum.scratch_bytes += need.scratch_bytes;
    sum.read_buffer_bytes += need.read_buffer_bytes;
    if (group.program) sum.scratch_bytes += group.program->scratch_bytes();
  }
  return sum;
}

std::span<const RowFailure> PartServer::serve(const Claim& claim, std::span<RowDigest> digests,
                                              const std::atomic<bool>& cancelled) {
  failures_.clear();
  const SampleMap::GroupUnit at = map_.group_of(claim.unit);
  if (boxes_)
    serve_cell(claim, digests, at);
  else
    serve_rows(claim, digests, at, cancelled);
  return failures_;
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
    runs_.push_back({r.slot->memory->fields.data() + server.first_field, r.begin, r.end, first_place_of(content.step),
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
  const BlockTable::Place place = groups_[at.group].layout.table->place(at.unit);
  const auto failed = server.rows->serve({at.unit, place.file, place.rows, claim.first, 0},
                                         {{}, moves_, runs_, longest, false}, cancelled);
  for (const RowFailure& f : failed)
    for (const SlotRun& r : claim.runs)
      for (std::uint32_t i = r.begin; i < r.end; ++i) {
        const Part& part = r.slot->content.parts[claim.requests[i].item];
        if (part.row < f.rows.end() && part.row + part.count > f.rows.first)
          failures_.push_back({{claim.requests[i].item, 1}, f.error});
      }
}

Result<const std::byte*> PartServer::decode_cell(SampleMap::GroupUnit at) {
  PieceDecoder& decoder = *servers_[at.group].cells;
  const ArrayReader& reader = *groups_[at.group].source->files[0].arrays[0];
  pieces_.clear();
  const std::uint64_t cell = at.unit;
  HEADRACE_TRY(reader.locate_cells({&cell, 1}, pieces_));
  const PieceTask task{0, pieces_[0]};
  HEADRACE_TRY(decoder.read(0, {&task, 1}));
  StageSpan span(counters_.clock, Stage::kDecode);
  span.add_bytes(task.piece.decoded_bytes);
  HEADRACE_ASSIGN(const RowsAt rows, decoder.decode(0, task, 0, {}));
  decoded_bytes_ = decoder.take_decoded_bytes();
  return rows.data;
}

/// One cell, for every box that reaches into it. What was copied is told by the addresses of the first and last runs.
void PartServer::serve_cell(const Claim& claim, std::span<RowDigest> digests, SampleMap::GroupUnit at) {
  const Result<const std::byte*> cell = decode_cell(at);
  if (!cell.ok()) {
    failures_.push_back({{0, ~std::uint32_t{0}}, cell.error()});
    return;
  }
  const CellGrid& grid = boxes_->grid(at.group);
  const std::uint64_t box_elements = boxes_->box_elements(at.group), item = grid.element_bytes;
  const std::uint64_t weight = field_weight(0);
  StageSpan span(counters_.clock, Stage::kScatter);
  std::uint64_t copied_bytes = 0;
  for (std::uint32_t run = 0; run < claim.runs.size(); ++run) {
    const SlotRun& r = claim.runs[run];
    std::byte* const field = r.slot->memory->fields[servers_[at.group].first_field];
    const std::uint64_t first = first_place_of(r.slot->content.step) * box_elements;
    for (std::uint32_t i = r.begin; i < r.end; ++i) {
      const std::uint32_t position = claim.requests[i].position;
      const Axes& start = boxes_->start_of(r.slot->content.samples[position]);
      const BoxOverlap overlap = overlap_of(grid, at.unit, start, boxes_->box());
      const BoxCopied done = copy_box(grid, overlap, *cell, boxes_->box(), field + position * box_elements * item);
      digests[run].placed +=
          weight * box_hash(at.unit, static_cast<std::uint64_t>(done.first_from - *cell) / item,
                            static_cast<std::uint64_t>(done.last_from - *cell) / item,
                            first + static_cast<std::uint64_t>(done.first_to - field) / item,
                            first + static_cast<std::uint64_t>(done.last_to - field) / item, done.run_bytes / item);
      span.add_bytes(done.bytes);
      copied_bytes += done.bytes;
    }
  }
  // Boxes that overlap copy bytes several times, which were needed once.
  counters_.add_decodes(decoded_bytes_, std::min(decoded_bytes_, copied_bytes));
  finish_streaming();
}

}  // namespace headrace
