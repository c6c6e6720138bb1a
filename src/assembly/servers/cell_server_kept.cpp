// The part of CellServer that has to do with its cache: cells that are there already, and cells to be put there.
#include <algorithm>

#include "assembly/servers/cell_server.h"
#include "base/clock.h"

namespace headrace {
namespace {

/// A block that this thread is to put into a cache. It is abandoned unless it gets there: others wait for it.
class Filling {
 public:
  Filling(BlockCache& cache, std::uint32_t block) : cache_(cache), block_(block) {}
  ~Filling() {
    if (!done_) cache_.abandon(block_);
  }
  Filling(const Filling&) = delete;
  Filling& operator=(const Filling&) = delete;

  void put(std::span<const std::byte> cell) {
    cache_.put(block_, cell.size(), 0, cell.data(), {});
    done_ = true;
  }

 private:
  BlockCache& cache_;
  const std::uint32_t block_;
  bool done_ = false;
};

}  // namespace

void CellServer::set_decoded_cache(DecodedCache* decoded_cache) {
  decoded_cache_ = decoded_cache->keeps() ? decoded_cache : nullptr;
}

/// Copy boxes from where the cell is kept already: its file is not asked for anything then, which may answer late.
/// \return False where it is not kept.
bool CellServer::copy_kept(const Claim& claim, const Task& task, std::span<RowDigest> digests) {
  if (!decoded_cache_ || !cells_are_decoded(task.grid, task.reader)) return false;
  if (decoded_cache_->rows)
    return (*decoded_cache_->rows)[task.at.group].ready(task.at.unit) && copy_stored(task, digests);
  const std::uint64_t start = now_ns();
  const std::shared_ptr<const KeptBlock> kept = decoded_cache_->blocks->find(claim.unit);
  if (!kept) return false;
  scatter(task, kept->data.data(), digests);
  decoded_cache_->policy.add_hit(kept->rows, now_ns() - start);
  return true;
}

/// Copy boxes from where another thread has just put the cell, or decode it and keep it. A cell of which nothing is
/// decoded, since it was never written or is stored as it is, is kept as no bytes: to make it again costs what copying
/// it does.
Status CellServer::copy_boxes(const Claim& claim, const Task& task, std::span<RowDigest> digests) {
  if (!decoded_cache_ || !cells_are_decoded(task.grid, task.reader)) return decode_boxes(task, digests, {});
  BlockCache& cache = *decoded_cache_->blocks;
  KeepPolicy& policy = decoded_cache_->policy;
  const bool keeps = task.piece.stored.range.size > 0 && !task.reader.is_plain(task.piece);
  const std::uint64_t bytes = keeps ? task.piece.decoded_bytes : 0, start = now_ns();
  const KeepPolicy::Moment moment{.ahead = claim.ahead, .wanted_again = !claim.last, .starting = claim.starting};
  std::shared_ptr<const KeptBlock> kept;
  // Uses are as far away for all cells: what is kept stays.
  const BlockCache::Lookup found = cache.look_up(claim.unit, bytes, 0, !keeps || policy.allows(moment), kept);
  // A chunk that was not there when it was filed may have been written since.
  if (found == BlockCache::Lookup::kHit && keeps && kept->rows == bytes) {
    scatter(task, kept->data.data(), digests);
    policy.add_hit(bytes, now_ns() - start);
    return {};
  }
  if (found != BlockCache::Lookup::kFill) {
    HEADRACE_TRY(decode_boxes(task, digests, {}));
    if (keeps) policy.add_decode(moment, bytes, now_ns() - start, 0);
    return {};
  }
  Filling filling(cache, claim.unit);
  std::uint64_t keep_ns = 0;
  HEADRACE_TRY(decode_boxes(task, digests, [&](const std::byte* cell) {
    const std::uint64_t decoded = now_ns();
    StageSpan span(counters_.clock, Stage::kCache);
    span.add_bytes(bytes);
    filling.put({cell, bytes});
    keep_ns = now_ns() - decoded;
  }));
  if (keeps) policy.add_decode(moment, bytes, now_ns() - start - keep_ns, keep_ns);
  return {};
}

}  // namespace headrace
