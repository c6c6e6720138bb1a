// The part of BlockServer that has to do with its cache: blocks that are there already, and blocks to be put there.
#include <algorithm>

#include "assembly/copying/row_copy.h"
#include "assembly/servers/block_server.h"
#include "base/clock.h"

namespace headrace {
namespace {

constexpr std::size_t kSparse = 8;  // rows of a block for one that is wanted, from which on they are read one by one

/// Ask the disk for what will be copied, before the first row of it is waited for.
void will_need(const RowStore& store, std::uint64_t block, const Wanted& wanted) {
  const std::vector<std::uint64_t>& starts = store.layout().block_starts;
  const std::uint64_t rows = starts[block + 1] - starts[block];
  if (wanted.num_rows() * kSparse >= rows) return store.will_need(block, {0, rows});
  for (const Request& r : wanted.requests) store.will_need(block, {r.item, 1});
  for (const Move& m : wanted.moves) store.will_need(block, {m.row, m.count});
}

bool wants(const std::vector<RowRange>& rows, const Wanted& wanted) {
  const auto any_in = [&](std::uint64_t first, std::uint64_t count) {
    return std::ranges::any_of(rows, [&](RowRange r) { return first < r.end() && r.first < first + count; });
  };
  if (std::ranges::any_of(wanted.moves, [&](const Move& m) { return any_in(m.row, m.count); })) return true;
  return std::ranges::any_of(wanted.runs, [&](const RowRun& run) {
    for (std::uint32_t i = run.begin; wanted.moves.empty() && i < run.end; ++i)
      if (any_in(wanted.requests[i].item, 1)) return true;
    return false;
  });
}

}  // namespace

/// \return True if nothing is left to do. Else filler_ says whether the block is to be kept.
bool BlockServer::serve_kept(const BlockTask& task, const Wanted& wanted) {
  return store_ ? serve_from_store(task, wanted) : serve_from_cache(task, wanted);
}

/// What the block cost, and what keeping it did, is what later ones are decided by.
void BlockServer::tell_policy(const BlockTask& task, std::uint64_t start_ns, bool hit) {
  const std::uint64_t all_ns = now_ns() - start_ns, bytes = form_.bytes(task.rows.count);
  const std::uint64_t keep_ns = std::min(filler_.take_keep_ns(), all_ns);
  if (hit)
    decoded_cache_->policy.add_hit(bytes, all_ns);
  else
    decoded_cache_->policy.add_decode(task.moment, bytes, all_ns - keep_ns, keep_ns);
}

bool BlockServer::serve_from_store(const BlockTask& task, const Wanted& wanted) {
  RowStore& store = *store_;
  const RowStore::Lookup found = decoded_cache_->look_up(group_, task.block);
  if (found == RowStore::Lookup::kReady) {
    if (const auto* const damaged = decoded_cache_->damaged.of(group_, task.block); damaged && wants(*damaged, wanted))
      return false;  // read again
    if (const Status sound = store.check(task.block); !sound.ok()) {
      decoded_cache_->notice(DecodedCache::text_of(sound.error(), "The rows are read from their own file instead."));
      return false;
    }
    if (!store.random_access()) will_need(store, task.block, wanted);
    std::vector<const std::byte*> fields(form_.num_fields());
    for (std::size_t f = 0; f < fields.size(); ++f)
      fields[f] = store.field(f) + store.layout().block_starts[task.block] * form_.row_bytes(f);
    put_dense(task.block, fields, wanted);
    decoded_cache_->counters.hits.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  if (found != RowStore::Lookup::kFill) return false;
  if (decoded_cache_->fills() && decoded_cache_->policy.allows(task.moment))
    filler_.begin_in_store(*decoded_cache_, store, task);
  else
    store.abandon(task.block);
  return false;
}

/// Note the rows that chunks of a block could not be decoded for, so that it can be kept. \return False where it
/// cannot: it may be read next time, or other processes would read it.
bool BlockServer::keep_damaged(const BlockTask& task) {
  if (store_ == nullptr || !decoded_cache_->is_private) return false;
  std::vector<RowRange> damaged;
  for (const RowFailure& f : failures_) {
    if (f.slot != nullptr || f.error.code() != ErrorCode::kCorruptData) return false;
    damaged.push_back(f.rows);
  }
  decoded_cache_->damaged.add(group_, task.block, std::move(damaged));
  return true;
}

std::span<const RowFailure> BlockServer::gather(std::uint64_t first_row, const Wanted& wanted) {
  failures_.clear();
  const RowStore& store = *store_;
  StageSpan span(counters_.clock, Stage::kScatter);
  for (std::size_t f = 0; f < form_.num_fields(); ++f) {
    const RowsAt rows{store.field(f), form_.row_bytes(f), 0, store.layout().rows()};
    put(f, {rows, nullptr, field_weight(f), f == 0 && wanted.counts_rows}, first_row, wanted, span);
  }
  finish_streaming();
  return failures_;
}

bool BlockServer::serve_from_cache(const BlockTask& task, const Wanted& wanted) {
  BlockCache& cache = *decoded_cache_->blocks;
  std::shared_ptr<const KeptBlock> kept;
  const BlockCache::Lookup found = cache.look_up(static_cast<std::uint32_t>(task.block), task.rows.count, task.next_use,
                                                 decoded_cache_->policy.allows(task.moment), kept);
  if (found == BlockCache::Lookup::kPass) return false;
  if (found == BlockCache::Lookup::kFill) {
    filler_.begin_in_cache(*decoded_cache_, task);
    return false;
  }
  if (kept->coding != BlockCoding::kRaw) {
    if (const Status decoded = put_coded(*kept, wanted); !decoded.ok()) {
      decoded_cache_->notice(decoded.error().what());
      return false;
    }
    count_kept(task);
    return true;
  }
  std::vector<const std::byte*> fields(form_.num_fields());
  for (std::size_t f = 0; f < fields.size(); ++f) fields[f] = kept->data.data() + form_.offset(f, kept->rows);
  put_dense(kept->block, fields, wanted);
  return true;
}

/// Rows of a block as a cache has them: dense, field by field. \param block  Which block the cache says it is.
void BlockServer::put_dense(std::uint64_t block, std::span<const std::byte* const> fields, const Wanted& wanted) {
  StageSpan span(counters_.clock, Stage::kScatter);
  const BlockTable::FileRows place = layout_.table->place(block);
  const std::uint64_t first_row = decoder_.first_row_of(task_->file) + task_->rows.first;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const RowsAt rows{fields[f], form_.row_bytes(f), decoder_.first_row_of(place.file) + place.rows.first,
                      place.rows.count};
    put(f, {rows, nullptr, field_weight(f), f == 0 && wanted.counts_rows}, first_row, wanted, span);
  }
  span.stop();
  count_kept(*task_);
}

/// Pieces are decoded one after the other into a buffer that stays in the cache, and moved on from there.
Status BlockServer::put_coded(const KeptBlock& kept, const Wanted& wanted) {
  StageSpan span(counters_.clock, Stage::kCache);
  if (piece_.size_bytes() < piece_scratch_bytes(form_)) {
    HEADRACE_ASSIGN(piece_, PageBuffer::allocate(piece_scratch_bytes(form_)));
  }
  const BlockTable::FileRows place = layout_.table->place(kept.block);
  const std::uint64_t block_row = decoder_.first_row_of(place.file) + place.rows.first;
  const std::uint64_t first_row = decoder_.first_row_of(task_->file) + task_->rows.first;
  const Wanted& sorted = by_row(wanted);
  for (std::size_t f = 0; f < form_.num_fields(); ++f) {
    const Pieces pieces = Pieces::of(form_, f);
    RowGeometry part{0, 0, pieces.row_bytes, {}};
    const bool whole = sink_.transforms(f) && pieces.per_row > 1;
    if (whole && row_.size_bytes() < pieces.row_bytes) {
      HEADRACE_ASSIGN(row_, PageBuffer::allocate(pieces.row_bytes));
    }
    std::uint64_t group = 0;  // of rows that are encoded together
    for (std::size_t near = 0; near < sorted.moves.size();) {
      group = std::max<std::uint64_t>(group, sorted.moves[near].row / pieces.rows);
      const std::uint64_t begin = group * pieces.rows, end = std::min(begin + pieces.rows, kept.rows);
      std::size_t last = near;
      while (last < sorted.moves.size() && sorted.moves[last].row < end) ++last;
      const Wanted here{{}, sorted.moves.subspan(near, last - near), sorted.runs, sorted.longest_move};
      for (std::uint64_t p = 0; p < pieces.per_row; ++p) {
        HEADRACE_ASSIGN(const std::span<const std::byte> piece,
                        decode_piece(form_, kept.rows, kept.coded, kept.data.bytes(), f, group * pieces.per_row + p,
                                     piece_.bytes()));
        if (whole) {
          std::copy(piece.begin(), piece.end(), row_.data() + p * pieces.bytes);
          if (p + 1 < pieces.per_row) continue;
          const RowsAt row{row_.data(), pieces.row_bytes, block_row + begin, 1};
          put(f, {row, nullptr, field_weight(f), f == 0 && wanted.counts_rows}, first_row, here, span);
          continue;
        }
        const std::uint64_t weight = part_weight(f, p, pieces.per_row);
        if (pieces.per_row > 1) {
          part.dst_offset_bytes = p * pieces.bytes;
          part.run_bytes = piece.size();
        }
        const RowsAt rows{piece.data(), pieces.row_bytes, block_row + begin, end - begin};
        put(f, {rows, &part, weight, f == 0 && p == 0 && wanted.counts_rows}, first_row, here, span);
      }
      ++group;
      while (near < sorted.moves.size() && sorted.moves[near].row + sorted.longest_move <= end) ++near;
    }
  }
  return {};
}

std::uint64_t BlockServer::needed_bytes(const BlockTask& task) {
  std::vector<RowFailure> unreadable;  // was told when the block was decoded
  planner_.plan(task.file, task.rows, {}, true, side_chunks_.enabled(), nullptr, unreadable);
  return planner_.needed_bytes();
}

void BlockServer::count_kept(const BlockTask& task) {
  finish_streaming();
  if (task.first) counters_.add_decodes(0, needed_bytes(task));
}

}  // namespace headrace
