#include "assembly/servers/cell_server.h"

#include <fmt/format.h>

#include <algorithm>

#include "assembly/copying/row_copy.h"
#include "catalog/row_digest.h"

namespace headrace {
namespace {

struct Need {
  std::uint64_t stored = 0, out = 0, filter = 0;
};

/// Stored bytes are at most the decoded ones, but for data that does not compress.
Need largest_need(const BoxMap& map, const std::vector<SourceGroup>& groups) {
  Need most;
  for (const BoxMap::Volume& volume : map.volumes())
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const CellGrid& grid = volume.grids[g];
      if (grid.cells == CellGrid::Cells::kPlain) {
        most.stored = std::max(most.stored, box_buffer_bytes(grid, map.box(g)));
        continue;
      }
      const ArrayReader& reader = *groups[g].source->files[volume.file].arrays[0];
      const ScratchNeed scratch = reader.scratch_need(grid.cell[0]);
      const std::uint64_t cell_bytes = grid.cell_elements() * grid.element_bytes;
      most.stored = std::max(most.stored, std::max(cell_bytes + cell_bytes / 4, box_buffer_bytes(grid, map.box(g))));
      most.out = std::max(most.out, scratch.out_bytes);
      most.filter = std::max(most.filter, scratch.filter_bytes);
    }
  return most;
}

}  // namespace

ServerNeed CellServer::need(const BoxMap& map, const std::vector<SourceGroup>& groups) {
  const Need most = largest_need(map, groups);
  return {PageBuffer::charge_for(most.out) + 2 * PageBuffer::charge_for(most.filter),
          PageBuffer::charge_for(most.stored)};
}

Status CellServer::prepare() {
  const Need most = largest_need(map_, groups_);
  HEADRACE_ASSIGN(out_, PageBuffer::allocate(most.out));
  HEADRACE_ASSIGN(ping_, PageBuffer::allocate(most.filter));
  HEADRACE_ASSIGN(pong_, PageBuffer::allocate(most.filter));
  HEADRACE_ASSIGN(stored_, PageBuffer::allocate(most.stored));
  counters_.hold(out_.charged_bytes() + ping_.charged_bytes() + pong_.charged_bytes(), stored_.charged_bytes());
  return {};
}

void CellServer::release() {
  for (PageBuffer* buffer : {&out_, &ping_, &pong_, &stored_, &padded_}) buffer->reset();
}

Status CellServer::locate(Task& task) {
  if (task.fetched) {
    task.piece = *task.fetched;
    return {};
  }
  pieces_.clear();
  switch (task.grid.cells) {
    case CellGrid::Cells::kChunks:
      HEADRACE_TRY(task.reader.locate_cells({&task.cell, 1}, pieces_));
      break;
    case CellGrid::Cells::kRows: {
      const std::uint64_t first = task.grid.cell_start(task.cell)[0];
      HEADRACE_TRY(task.reader.locate({first, std::min(task.grid.cell[0], task.grid.shape[0] - first)}, pieces_));
      break;
    }
    case CellGrid::Cells::kPlain:
      HEADRACE_TRY(task.reader.locate({0, task.grid.shape[0]}, pieces_));
  }
  if (pieces_.size() != 1) return Error(ErrorCode::kInternal, fmt::format("a cell of {} pieces", pieces_.size()));
  task.piece = pieces_[0];
  return {};
}

void CellServer::list_requests(const Claim& claim, const Task& task) {
  const std::uint64_t box_elements = map_.box_elements(task.at.group), item = task.grid.element_bytes;
  requests_.clear();
  for (std::uint32_t run = 0; run < claim.runs.size(); ++run) {
    const SlotRun& r = claim.runs[run];
    std::byte* const field = r.slot->memory->fields[task.array];
    const std::uint64_t first_place = first_place_of(r.slot->content.step);
    for (std::uint32_t i = r.begin; i < r.end; ++i) {
      const std::uint64_t position = claim.requests[i].position;
      const BoxPlace place = map_.place_of(r.slot->content.parts[claim.requests[i].item]);
      requests_.push_back(
          {field + position * box_elements * item,
           overlap_of(task.grid, task.cell, map_.start_in(task.at.group, place), map_.box(task.at.group)),
           (first_place + position) * box_elements, run});
    }
  }
}

/// Boxes are read by themselves where that is less than the cell.
bool CellServer::reads_boxes(const Task& task) const {
  if (task.piece.stored.range.size == 0 || !task.reader.is_plain(task.piece)) return false;
  if (task.grid.cells == CellGrid::Cells::kPlain) return true;
  std::uint64_t bytes = 0;
  for (const BoxRequest& request : requests_) bytes += plan_box_reads(task.grid, request.overlap).bytes(task.grid);
  return bytes < task.grid.cell_elements() * task.grid.element_bytes;
}

/// The proof is made of the addresses of the first and the last run that were copied.
void CellServer::add_to(RowDigest& digest, const Task& task, const BoxRequest& request, std::uint64_t first_from,
                        std::uint64_t last_from, const BoxCopied& done) const {
  const std::uint64_t item = task.grid.element_bytes;
  const auto in_box = [&](const std::byte* to) {
    return request.first_place + static_cast<std::uint64_t>(to - request.to) / item;
  };
  digest.placed += field_weight(0) * box_hash(task.at.unit, first_from, last_from, in_box(done.first_to),
                                              in_box(done.last_to), done.run_bytes / item);
}

Status CellServer::read_boxes(const Task& task, std::span<RowDigest> digests, const std::atomic<bool>& cancelled) {
  std::uint64_t read_bytes = 0, copied_bytes = 0;
  for (const BoxRequest& request : requests_) {
    if (cancelled.load(std::memory_order_relaxed)) return {};
    HEADRACE_ASSIGN(const BoxRead done, read_box(task.grid, request.overlap, task.piece.stored, map_.box(task.at.group),
                                                 request.to, stored_.bytes(), counters_.clock));
    add_to(digests[request.run], task, request, done.first_from, done.last_from, done.copied);
    read_bytes += done.read_bytes;
    copied_bytes += done.copied.bytes;
  }
  counters_.add_decodes(read_bytes, copied_bytes);
  finish_streaming();
  return check_files_unchanged({&task.piece.stored, 1});
}

Result<const std::byte*> CellServer::decode(const Task& task) {
  const std::uint64_t bytes = task.piece.stored.range.size;
  if (bytes > stored_.size_bytes()) {
    stored_.reset();
    HEADRACE_ASSIGN(stored_, PageBuffer::allocate(bytes));
  }
  StageSpan span(counters_.clock, Stage::kRead);
  span.add_bytes(bytes);
  if (!task.fetched) HEADRACE_TRY(task.reader.check_unchanged());
  HEADRACE_TRY(read_ranges({&task.piece.stored, 1}, stored_.bytes()));
  span.switch_to(Stage::kDecode);
  span.add_bytes(task.piece.decoded_bytes);
  HEADRACE_ASSIGN(const DecodedPiece decoded, task.reader.decode(task.piece, stored_.bytes().first(bytes),
                                                                 {out_.bytes(), ping_.bytes(), pong_.bytes()}));
  if (task.reader.info().read_path == ReadPath::kFallback) counters_.add_slow_piece();
  return decoded.data;
}

/// \param then  Called with the cell when its boxes are in their places; may be empty.
Status CellServer::decode_boxes(const Task& task, std::span<RowDigest> digests,
                                const std::function<void(const std::byte*)>& then) {
  HEADRACE_ASSIGN(const std::byte* const cell, decode(task));
  scatter(task, cell, digests);
  counters_.add_decodes(task.piece.decoded_bytes, 0);
  if (then) then(cell);
  return {};
}

/// Read boxes by themselves, or decode the cell, whichever is less.
Status CellServer::serve_from_file(const Task& task, std::span<RowDigest> digests, const std::atomic<bool>& cancelled) {
  return reads_boxes(task) ? read_boxes(task, digests, cancelled) : decode_boxes(task, digests, {});
}

void CellServer::scatter(const Task& task, const std::byte* cell, std::span<RowDigest> digests) {
  StageSpan span(counters_.clock, Stage::kScatter);
  std::uint64_t copied_bytes = 0;
  const std::uint64_t item = task.grid.element_bytes;
  for (const BoxRequest& request : requests_) {
    const BoxCopied done = copy_box(task.grid, request.overlap, cell, map_.box(task.at.group), request.to);
    const auto in_cell = [&](const std::byte* from) { return static_cast<std::uint64_t>(from - cell) / item; };
    add_to(digests[request.run], task, request, in_cell(done.first_from), in_cell(done.last_from), done);
    copied_bytes += done.bytes;
  }
  span.add_bytes(copied_bytes);
  counters_.add_decodes(0, copied_bytes);
  finish_streaming();
}

void CellServer::serve(const Claim& claim, SampleMap::GroupUnit at, std::size_t array, std::span<RowDigest> digests,
                       std::vector<RowFailure>& failures, const std::atomic<bool>& cancelled) {
  const BoxMap::Cell cell = map_.cell_of(at.group, at.unit);
  const BoxMap::Volume& volume = map_.volumes()[cell.volume];
  const SourceFile& file = groups_[at.group].source->files[volume.file];
  Task task{*file.arrays[0], volume.grids[at.group], cell.number, at, array};
  if (cancelled.load(std::memory_order_relaxed)) return;
  list_requests(claim, task);
  Status done;
  if (copy_kept(claim, task, digests)) {
    if (ahead_) ahead_->forget(claim.unit);
  } else {
    const UnitReading reading(ahead_, claim.unit, nullptr, counters_.clock);
    if (const std::vector<Piece>* const pieces = reading.pieces() ? reading.pieces()->of(0) : nullptr;
        pieces && pieces->size() == 1)
      task.fetched = pieces->data();
    done = locate(task);
    if (done.ok())
      done = decoded_cache_ && decoded_cache_->rows ? serve_from_store(claim, task, digests, cancelled)
             : reads_boxes(task)                    ? read_boxes(task, digests, cancelled)
                                                    : copy_boxes(claim, task, digests);
  }
  if (!done.ok()) {
    Error& error = done.error();
    error.with_file(file.path).with_field(task.reader.info().path);
    if (error.chunk().empty()) error.with_chunk(task.reader.piece_name(task.piece));
    failures.push_back({{0, ~std::uint32_t{0}}, error});
    return;
  }
  const std::vector<std::byte>& fill = groups_[at.group].fill_element;
  for (const BoxRequest& request : requests_)
    if (request.overlap.reaches_outside())
      fill_outside(task.grid, request.overlap, fill.data(), map_.box(at.group), request.to);
}

}  // namespace headrace
