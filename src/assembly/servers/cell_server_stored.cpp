// The part of CellServer that has to do with stores of all cells: a directory, or memory that a host shares. A cell is
// a row of its group's store, as long as the largest, and a block of its own.
#include <cstring>

#include "assembly/copying/row_copy.h"
#include "assembly/servers/cell_server.h"
#include "base/clock.h"

namespace headrace {
namespace {

/// A cell that this thread is to put into a store. It is abandoned unless it gets there: others wait for it.
class StoreFilling {
 public:
  StoreFilling(RowStore& store, std::uint64_t cell) : store_(store), cell_(cell) {}
  ~StoreFilling() {
    if (!done_) store_.abandon(cell_);
  }
  StoreFilling(const StoreFilling&) = delete;
  StoreFilling& operator=(const StoreFilling&) = delete;
  void done() { done_ = true; }

 private:
  RowStore& store_;
  const std::uint64_t cell_;
  bool done_ = false;
};

}  // namespace

/// Copy boxes from a cell that is in its store. \return False where it was damaged: it is not in the store any more.
bool CellServer::copy_stored(const Task& task, std::span<RowDigest> digests) {
  RowStore& store = (*decoded_cache_->rows)[task.at.group];
  const std::uint64_t cell = task.at.unit, start = now_ns();
  if (const Status sound = store.check(cell); !sound.ok()) {
    decoded_cache_->notice(DecodedCache::text_of(sound.error(), "The chunk is read from its own file instead."));
    return false;
  }
  if (!store.random_access()) store.will_need(cell, {0, 1});
  scatter(task, store.field(0) + cell * store.layout().row_bytes(), digests);
  decoded_cache_->counters.hits.fetch_add(1, std::memory_order_relaxed);
  decoded_cache_->policy.add_hit(task.grid.cell_elements() * task.grid.element_bytes, now_ns() - start);
  return true;
}

/// Copy boxes from where the cell is stored, or decode it and store it. A cell of which nothing is decoded is read from
/// its own file, and stored as zeros: a store is complete when it has all of its rows.
Status CellServer::serve_from_store(const Claim& claim, const Task& task, std::span<RowDigest> digests,
                                    const std::atomic<bool>& cancelled) {
  RowStore& store = (*decoded_cache_->rows)[task.at.group];
  KeepPolicy& policy = decoded_cache_->policy;
  const std::uint64_t cell = task.at.unit, start = now_ns();
  const KeepPolicy::Moment moment{.ahead = claim.ahead, .wanted_again = !claim.last, .starting = claim.starting};
  const bool decodes = cells_are_decoded(task.grid, task.reader);
  const RowStore::Lookup found = decoded_cache_->look_up(task.at.group, cell);
  if (found == RowStore::Lookup::kReady && decodes && copy_stored(task, digests)) return {};
  if (found != RowStore::Lookup::kFill) return serve_from_file(task, digests, cancelled);
  StoreFilling filling(store, cell);
  if (!decoded_cache_->fills() || !policy.allows(moment)) return serve_from_file(task, digests, cancelled);
  std::uint64_t keep_ns = 0;
  const auto keep = [&](std::span<const std::byte> decoded) {
    const std::uint64_t decoded_ns = now_ns();
    filling.done();
    put_in_store(store, cell, decoded);
    keep_ns = now_ns() - decoded_ns;
  };
  if (decodes) {
    HEADRACE_TRY(decode_boxes(task, digests, [&](const std::byte* all) { keep({all, task.piece.decoded_bytes}); }));
    policy.add_decode(moment, task.piece.decoded_bytes, now_ns() - start - keep_ns, keep_ns);
  } else {
    HEADRACE_TRY(serve_from_file(task, digests, cancelled));
    keep({});
  }
  return {};
}

/// Store a cell that this thread took, or give it up where that fails. What it lacks to a row is zeros.
void CellServer::put_in_store(RowStore& store, std::uint64_t cell, std::span<const std::byte> decoded) {
  const std::uint64_t row_bytes = store.layout().row_bytes();
  StageSpan span(counters_.clock, Stage::kCache);
  span.add_bytes(decoded.size());
  Status stored;
  if (std::byte* const to = store.writable(0, cell)) {  // it begins as zeros
    if (!decoded.empty()) {
      make_resident({to, decoded.size()});
      copy_run(to, decoded.data(), decoded.size());
      finish_streaming();
    }
  } else {
    const std::byte* row = decoded.data();
    if (decoded.size() < row_bytes) {
      if (padded_.size_bytes() < row_bytes) {
        Result<PageBuffer> larger = PageBuffer::allocate(row_bytes);
        if (larger.ok())
          padded_ = std::move(*larger);
        else
          stored = larger.error();
      }
      if (stored.ok()) {
        if (!decoded.empty()) std::memcpy(padded_.data(), decoded.data(), decoded.size());
        std::memset(padded_.data() + decoded.size(), 0, row_bytes - decoded.size());
        row = padded_.data();
      }
    }
    if (stored.ok()) stored = store.put(cell, {&row, 1});
  }
  if (!stored.ok()) {
    store.abandon(cell);
    return decoded_cache_->disable(DecodedCache::text_of(stored.error(), DecodedCache::kGoesOn));
  }
  decoded_cache_->counters.fills.fetch_add(1, std::memory_order_relaxed);
  if (store.publish(cell)) decoded_cache_->notify_complete();
}

}  // namespace headrace
