#include "tools/rewrite/row_scan.h"

#include <headrace/bytes.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/clock.h"
#include "base/memory/align.h"

namespace headrace {
namespace {

constexpr std::uint64_t kScanPieces = 1 << 14;  // at once, so that the list of pieces stays small
constexpr std::uint64_t kTickNs = 100'000'000;

std::uint64_t rows_at_once(const ArrayReader& reader) {
  const ArrayInfo& info = reader.info();
  if (info.layout == Layout::kChunked)
    return std::max<std::uint64_t>(kScanPieces / std::max(reader.pieces_across(), 1U), 1) * info.chunk_rows();
  return std::max<std::uint64_t>(mebibytes(4) / std::max<std::uint64_t>(info.row_record_bytes(), 1), 1);
}

/// Rows of one decoded piece at most.
std::uint64_t rows_of_piece(const ArrayReader& reader) {
  const ArrayInfo& info = reader.info();
  return info.layout == Layout::kChunked ? info.chunk_rows() : std::min(rows_at_once(reader), info.rows());
}

struct Task {
  const RowSource* source = nullptr;
  Piece piece;
};

/// The pieces of all sources in order; several threads take from it.
class Tasks {
 public:
  explicit Tasks(std::span<const RowSource> sources) : sources_(sources) {}

  /// \return False once there are no more.
  Result<bool> take(Task& task) {
    const std::lock_guard lock(mutex_);
    while (next_ == pieces_.size()) {
      if (source_ == sources_.size()) return false;
      const RowSource& source = sources_[source_];
      if (row_ >= source.rows.count) {
        ++source_, row_ = 0;
        continue;
      }
      const std::uint64_t count = std::min(rows_at_once(*source.reader), source.rows.count - row_);
      pieces_.clear();
      next_ = 0;
      HEADRACE_TRY(source.reader->locate({source.rows.first + row_, count}, pieces_));
      // Chunks that the range only begins in are taken with the rows before it.
      const std::uint64_t first = source.rows.first + row_;
      if (row_ > 0) std::erase_if(pieces_, [&](const Piece& p) { return p.rows.first < first; });
      located_ = &source;
      row_ += count;
    }
    task = {located_, pieces_[next_++]};
    return true;
  }

 private:
  std::span<const RowSource> sources_;
  std::mutex mutex_;
  std::size_t source_ = 0, next_ = 0;
  std::uint64_t row_ = 0;
  const RowSource* located_ = nullptr;
  std::vector<Piece> pieces_;
};

/// A thread's memory, which grows to what the largest piece needs.
class Buffers {
 public:
  Result<DecodedPiece> decode(const Task& task) {
    const ArrayReader& array = *task.source->reader;
    const ScratchNeed need = array.scratch_need(task.piece.rows.count);
    const std::uint64_t out = align_up(need.out_bytes), filter = align_up(need.filter_bytes),
                        stored = task.piece.stored.range.size;
    const std::uint64_t wanted = out + 2 * filter + stored + kCacheLineBytes;
    if (bytes_.size() < wanted) {
      bytes_ = {};
      bytes_.resize(wanted);
    }
    const auto at = reinterpret_cast<std::uintptr_t>(bytes_.data());
    std::byte* const base = bytes_.data() + (kCacheLineBytes - at % kCacheLineBytes) % kCacheLineBytes;
    const DecodeScratch scratch{
        {base, need.out_bytes}, {base + out, need.filter_bytes}, {base + out + filter, need.filter_bytes}};
    const std::span<std::byte> from(base + out + 2 * filter, stored);
    if (stored > 0) HEADRACE_TRY(read_range(task.piece.stored, from));
    return array.decode(task.piece, from, scratch);
  }

 private:
  std::vector<std::byte> bytes_;
};

Error located(Error error, const Task& task) {
  if (task.piece.stored.file != nullptr) error.with_file(task.piece.stored.file->name());
  error.with_field(task.source->reader->info().path).with_chunk(task.source->reader->piece_name(task.piece));
  return error;
}

}  // namespace

std::uint64_t scan_bytes(const ArrayReader& reader) {
  const ScratchNeed need = reader.scratch_need(rows_of_piece(reader));
  return 2 * need.out_bytes + 2 * need.filter_bytes + need.out_bytes / 8;  // what is stored may be longer than decoded
}

Status scan_rows(std::span<const RowSource> sources, std::uint32_t threads, const VisitPiece& visit,
                 const ScanTick& tick) {
  Tasks tasks(sources);
  std::atomic<std::uint64_t> decoded_bytes{0};
  return run_parallel(static_cast<int>(threads), "hr-rewrite", [&](int index, const std::stop_token& stop) -> Status {
    Buffers buffers;
    std::uint64_t ticked_ns = 0;
    Task task;
    for (;;) {
      if (stop.stop_requested()) return Error(ErrorCode::kCancelled, "stopped");
      if (index == 0 && tick && now_ns() - ticked_ns > kTickNs) {
        ticked_ns = now_ns();
        if (!tick(decoded_bytes.load())) return Error(ErrorCode::kCancelled, "stopped before everything was written");
      }
      HEADRACE_ASSIGN(const bool more, tasks.take(task));
      if (!more) return {};
      auto decoded = buffers.decode(task);
      if (!decoded.ok()) return located(std::move(decoded.error()), task);
      const std::uint64_t first = std::max(task.piece.rows.first, task.source->rows.first);
      const std::uint64_t end = std::min(task.piece.rows.end(), task.source->rows.end());
      HEADRACE_TRY(visit({*task.source, task.piece, {first, end - first}, *decoded}));
      decoded_bytes += task.piece.decoded_bytes;
    }
  });
}

}  // namespace headrace
