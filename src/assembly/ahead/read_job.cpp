#include "assembly/ahead/read_job.h"

#include <algorithm>

#include "storage/held_bytes.h"
#include "storage/read_batch.h"

namespace headrace {

Result<bool> ReadJob::plan() {
  steps_.clear();
  cached_bytes_ = 0;
  if (stage_ == Stage::kBegun) {
    stage_ = Stage::kBeside;
    locator_.list_beside(unit_, beside_);
    std::erase_if(beside_, [](const FileRange& r) {
      return r.range.size == 0 || r.file->read_ahead() != RandomAccessFile::ReadAhead::kPageCache;
    });
    for (const FileRange& range : beside_) add_steps(range, kCached);
    if (!steps_.empty()) return true;
  }
  if (stage_ == Stage::kBeside) {
    stage_ = Stage::kPieces;
    HEADRACE_TRY(locator_.locate(unit_, wanted_ ? &*wanted_ : nullptr, pieces_));
    plan_pieces();
    return true;
  }
  return false;
}

std::vector<ByteRange> ReadJob::steps_of(ByteRange range) {
  std::vector<ByteRange> steps;
  for (std::uint64_t at = range.offset; at < range.end(); at += kStepBytes)
    steps.push_back({at, std::min(kStepBytes, range.end() - at)});
  return steps;
}

void ReadJob::add_steps(const FileRange& range, std::size_t held) {
  for (const ByteRange step : steps_of(range.range)) steps_.push_back({range.file, step, held});
  (held == kCached ? cached_bytes_ : held_bytes_) += range.range.size;
}

/// A range that owns its file is one of very many files, which has to be opened: its bytes are held.
void ReadJob::plan_pieces() {
  std::vector<FileRange> cached, held;
  // Rows that are asked for by now may be joined by others: only of arrays that are located whole all pieces are known.
  asks_.assign(locator_.num_arrays(unit_), wanted_.has_value());
  if (wanted_)
    for (const PieceTask& p : pieces_)
      if (p.piece.stored.owner != nullptr) asks_[p.array] = false;
  for (const PieceTask& p : pieces_) {
    const FileRange& stored = p.piece.stored;
    if (p.piece.is_unreadable) asks_[p.array] = true;
    if (stored.range.size == 0) continue;
    using Kind = RandomAccessFile::ReadAhead;
    const Kind kind = stored.file->read_ahead();
    if (kind == Kind::kHold && stored.owner == nullptr && wanted_) continue;
    if (kind == Kind::kHold || (kind == Kind::kPageCache && stored.owner != nullptr)) {
      held.push_back(stored);
      continue;
    }
    asks_[p.array] = true;
    const auto is_read = [&](const FileRange& r) {
      return r.file == stored.file && r.range.offset <= stored.range.offset && stored.range.end() <= r.range.end();
    };
    if (kind == Kind::kPageCache && std::ranges::none_of(beside_, is_read)) cached.push_back(stored);
  }
  for (auto* ranges : {&cached, &held}) {
    ReadBatch batch;
    if (!batch.plan(*ranges).ok()) continue;  // the decode thread meets the same error
    for (const FileRange& merged : batch.merged()) {
      if (ranges == &held) held_.push_back({merged, {}});
      add_steps(merged, ranges == &held ? held_.size() - 1 : kCached);
    }
  }
}

Status ReadJob::prepare() {
  for (Held& held : held_) {
    HEADRACE_ASSIGN(held.bytes, PageBuffer::allocate(held.range.range.size));
  }
  return {};
}

Status ReadJob::read(std::size_t i, std::span<std::byte> sink) const {
  const Step& step = steps_[i];
  std::span<std::byte> to = sink.first(step.range.size);
  if (step.held != kCached) {
    const Held& held = held_[step.held];
    to = held.bytes.bytes().subspan(step.range.offset - held.range.range.offset, step.range.size);
  }
  return read_range({step.file, step.range}, to);
}

Result<std::shared_ptr<const FetchedPieces>> ReadJob::result() {
  if (std::ranges::all_of(pieces_, [&](const PieceTask& p) { return asks_[p.array]; }))
    return std::shared_ptr<const FetchedPieces>();
  std::vector<FileRange> read;
  std::vector<std::shared_ptr<const HeldBytes>> bytes;
  for (Held& held : held_) {
    read.push_back(held.range);
    bytes.push_back(std::make_shared<const HeldBytes>(*held.range.file, held.range.range, std::move(held.bytes)));
  }
  HEADRACE_TRY(check_files_unchanged(read));
  auto fetched = std::make_shared<FetchedPieces>();
  fetched->arrays.resize(asks_.size());
  for (PieceTask& p : pieces_) {
    if (asks_[p.array]) continue;
    std::optional<std::vector<Piece>>& pieces = fetched->arrays[p.array];
    if (!pieces) pieces.emplace();
    const FileRange& stored = p.piece.stored;
    if (stored.range.size == 0) {  // no file is asked for it
      HEADRACE_TRY(locator_.check_unchanged(unit_, p.array));
    } else {
      const auto held = std::ranges::find_if(read, [&](const FileRange& r) {
        return r.file == stored.file && r.range.offset <= stored.range.offset && stored.range.end() <= r.range.end();
      });
      p.piece.stored = {bytes[static_cast<std::size_t>(held - read.begin())], stored.range};
    }
    pieces->push_back(std::move(p.piece));
  }
  return std::shared_ptr<const FetchedPieces>(std::move(fetched));
}

}  // namespace headrace
