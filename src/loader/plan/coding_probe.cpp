#include "loader/plan/coding_probe.h"

#include <algorithm>
#include <atomic>

#include "assembly/ahead/reads_ahead.h"
#include "base/clock.h"
#include "base/threads/parallel.h"
#include "dataset/dataset_contents.h"

namespace headrace {
namespace {

constexpr int kTimes = 2;                      // the first time pays for fresh memory and cold caches
constexpr int kLooks = 3;                      // blocks that are looked at: they need not be alike
constexpr std::uint64_t kLookBytes = 1 << 20;  // of each: encoding whole large blocks would delay the first batch

double as_ns(std::uint64_t ns) {
  return static_cast<double>(ns);
}

/// What a probe works with.
struct Workbench {
  BlockForm form;
  PageBuffer block, spare, piece;
  std::uint64_t rows = 0;        // at hand
  std::uint64_t block_rows = 0;  // of the block that they are from
  /// Return how much more the whole block is.
  [[nodiscard]] double scale() const {
    return static_cast<double>(block_rows) / static_cast<double>(std::max<std::uint64_t>(rows, 1));
  }
};

/// Rows to look at, of a block of so many.
std::uint64_t rows_of_look(const BlockForm& form, std::uint64_t block_rows) {
  return std::min(block_rows, std::max<std::uint64_t>(kLookBytes / std::max<std::uint64_t>(form.bytes(1), 1), 1));
}

/// Encode the rows at hand. \param timed  Several times, decoded again, and with the clock; else for its share only.
/// \return False if that cannot be done.
bool try_coding(Workbench& w, CodingTrial& trial, bool timed) {
  std::uint64_t bytes = 0;
  for (int i = 0; i < (timed ? kTimes : 1); ++i) {
    const std::uint64_t start = now_ns();
    const Result<CodedBlock> coded = encode_block(w.form, w.rows, trial.coding, w.block.data(), w.spare.bytes());
    if (!coded.ok() || coded->pieces.empty()) return false;
    const std::uint64_t encoded = now_ns();
    bytes = coded->bytes();
    if (!timed) break;
    for (std::size_t f = 0; f < w.form.num_fields(); ++f)
      for (std::uint64_t p = 0; p < Pieces::of(w.form, f).count(w.rows); ++p)
        if (!decode_piece(w.form, w.rows, *coded, w.spare.bytes(), f, p, w.piece.bytes()).ok()) return false;
    trial.encode_ns = std::min(trial.encode_ns, as_ns(encoded - start) * w.scale());
    trial.decode_ns = std::min(trial.decode_ns, as_ns(now_ns() - encoded) * w.scale());
  }
  // The bytes that the cache will be charged for.
  const auto coded_bytes = static_cast<std::uint64_t>(as_ns(bytes) * w.scale());
  trial.coded_share +=
      as_ns(PageBuffer::charge_for(coded_bytes)) / as_ns(std::max<std::uint64_t>(w.form.bytes(w.block_rows), 1));
  return true;
}

/// Decode a block, and lay rows from its middle on the bench. \return Nanoseconds; 0 if it cannot be read.
std::uint64_t decode_block(Workbench& w, BlockServer& server, std::uint32_t block, const BlockTable::FileRows& place) {
  w.block_rows = place.rows.count;
  w.rows = rows_of_look(w.form, w.block_rows);
  const std::uint64_t first = (w.block_rows - w.rows) / 2;
  std::vector<Request> requests;
  for (std::uint32_t r = 0; r < w.rows; ++r) requests.push_back({static_cast<std::uint32_t>(first + r), r});
  std::vector<std::byte*> fields;
  for (std::size_t f = 0; f < w.form.num_fields(); ++f) fields.push_back(w.block.data() + w.form.offset(f, w.rows));
  const RowRun run{fields.data(), 0, static_cast<std::uint32_t>(w.rows)};
  const std::atomic<bool> cancelled{false};
  const std::uint64_t start = now_ns();
  const bool good =
      server.serve({block, place.file, place.rows, true, 0}, {requests, {}, {&run, 1}}, cancelled).empty();
  return good ? std::max<std::uint64_t>(now_ns() - start, 1) : 0;
}

}  // namespace

std::optional<CodingProbe> probe_codings(Dataset::Impl& dataset, MemoryBudget& budget) {
  const BlockTable& blocks = *dataset.blocks;
  Workbench w{BlockForm(*dataset.source.rows()->columns), {}, {}, {}};
  const std::uint64_t most = dataset.layout.most_stored_rows();  // blocks are decoded whole, whatever was selected
  if (blocks.num_blocks() == 0 || most == 0 || !can_encode(w.form, most)) return {};
  const ServerNeed need = BlockServer::need(*dataset.source.rows(), dataset.layout);
  const auto memory = budget.try_reserve(
      MemoryTag::kScratch, need.scratch_bytes + 2 * need.read_buffer_bytes + need.dense_bytes + need.coded_bytes);
  if (!memory.ok()) return {};
  const std::uint64_t rows = rows_of_look(w.form, most);
  Result<PageBuffer> block = PageBuffer::allocate(w.form.bytes(rows)),
                     spare = PageBuffer::allocate(most_coded_bytes(w.form, rows)),
                     piece = PageBuffer::allocate(piece_scratch_bytes(w.form));
  StageClock clock;
  DecodeCounters counters(clock);
  const std::shared_ptr<const Source> stored = as_stored(dataset.source.shared_rows());
  BlockServer server(*stored, dataset.layout, dataset.no_residents, dataset.no_side_chunks, counters);
  if (!block.ok() || !spare.ok() || !piece.ok() || !server.prepare().ok()) return {};
  // Files that answer late are waited for together.
  ReadsAhead ahead(UnitLocator(SampleSource(stored), dataset.layout, dataset.blocks),
                   {.held_bytes = need.read_buffer_bytes,
                    .cached_bytes = kLookBytes << 8,
                    .is_kept = [](std::uint32_t) { return false; }},
                   start_thread);
  server.set_reads_ahead(&ahead);
  w.block = std::move(*block), w.spare = std::move(*spare), w.piece = std::move(*piece);
  CodingProbe probe;
  for (const BlockCoding coding : kBlockCodings) probe.trials.push_back({coding, 0, 1e18, 1e18});
  probe.miss_ns = 1e18;
  const auto block_of = [&](int look) {
    return static_cast<std::uint32_t>(blocks.num_blocks() * static_cast<std::uint64_t>(2 * look + 1) / (2 * kLooks));
  };
  for (int look = 0; look < kLooks; ++look) ahead.wanted(block_of(look), 0), ahead.complete(block_of(look), 0);
  ahead.start(dataset.source.first_path());
  for (int look = 0; look < kLooks; ++look) {
    const bool timed = look == kLooks / 2;  // the others are for what the encodings make of them
    const BlockTable::FileRows place = blocks.place(block_of(look));
    for (int i = 0; i < (timed ? kTimes : 1); ++i) {
      const std::uint64_t ns = decode_block(w, server, block_of(look), place);
      if (ns == 0) return {};
      if (timed) probe.rows = w.block_rows, probe.miss_ns = std::min(probe.miss_ns, as_ns(ns));
    }
    for (CodingTrial& trial : probe.trials)
      if (!try_coding(w, trial, timed)) return {};
  }
  for (CodingTrial& trial : probe.trials) trial.coded_share /= kLooks;
  return probe;
}

}  // namespace headrace
