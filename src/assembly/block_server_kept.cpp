// The part of BlockServer that has to do with its keeper: blocks that are there already, and blocks to be put there.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "assembly/block_server.h"
#include "assembly/row_copy.h"
#include "assembly/row_gather.h"

namespace headrace {
namespace {

// Longest wait for another process that fills a block; then it is decoded here as well.
constexpr std::chrono::seconds kLongestWait{2};
constexpr std::size_t kSparse = 8;  // rows of a block for one that is wanted, from which on they are read one by one

/// Ask the disk for what will be copied, before the first row of it is waited for.
void will_need(const RowStore& store, std::uint64_t block, std::span<const Request> requests) {
  const std::vector<std::uint64_t>& starts = store.layout().block_starts;
  const std::uint64_t rows = starts[block + 1] - starts[block];
  if (requests.size() * kSparse >= rows) return store.will_need(block, {0, rows});
  for (const Request& r : requests) store.will_need(block, {r.row, 1});
}

/// Is a row of the piece the row of the field, byte for byte?
bool is_whole_row(const RowGeometry& g, std::uint64_t row_bytes) {
  return g.loops.empty() && g.src_offset_bytes == 0 && g.run_bytes == row_bytes;
}

}  // namespace

/// \return True if nothing is left to do. Else filling_ says whether the block is to be kept.
bool BlockServer::serve_kept(const BlockTask& task, std::span<const Request> requests, std::span<const RowRun> runs) {
  filling_.where = Filling::kNowhere;
  return keeper_->rows ? serve_from_store(task, requests, runs) : serve_from_cache(task, requests, runs);
}

bool BlockServer::serve_from_store(const BlockTask& task, std::span<const Request> requests,
                                   std::span<const RowRun> runs) {
  RowStore& store = *keeper_->rows;
  RowStore::Take take = store.take(task.block);
  if (take == RowStore::Take::kBusy) {
    store.wait(task.block, kLongestWait);
    take = store.take(task.block);
  }
  if (take == RowStore::Take::kReady) {
    if (const Status sound = store.check(task.block); !sound.ok()) {
      keeper_->note(fmt::format("{} The rows are read from their own file instead.", sound.error().what()));
      return false;
    }
    if (!store.random_access()) will_need(store, task.block, requests);
    std::vector<const std::byte*> fields(form_.num_fields());
    for (std::size_t f = 0; f < fields.size(); ++f)
      fields[f] = store.field(f) + store.layout().block_starts[task.block] * form_.row_bytes(f);
    scatter_kept(task, fields, requests, runs);
    keeper_->counters.hits.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  if (take != RowStore::Take::kFill) return false;
  if (!keeper_->fills()) {
    store.abandon(task.block);
    return false;
  }
  filling_.fields.assign(form_.num_fields(), nullptr);
  filling_.in_place = store.writable(0, task.block) != nullptr;
  if (filling_.in_place)
    for (std::size_t f = 0; f < form_.num_fields(); ++f) filling_.fields[f] = store.writable(f, task.block);
  else if (!fill_scratch(task, false)) {
    store.abandon(task.block);
    return false;
  }
  filling_.where = Filling::kStore;
  return false;
}

bool BlockServer::serve_from_cache(const BlockTask& task, std::span<const Request> requests,
                                   std::span<const RowRun> runs) {
  BlockCache& cache = *keeper_->blocks;
  std::shared_ptr<const KeptBlock> kept;
  const BlockCache::Take take =
      cache.take(static_cast<std::uint32_t>(task.block), task.rows.count, task.next_use, kept);
  if (take == BlockCache::Take::kPass) return false;
  if (take == BlockCache::Take::kFill) {
    if (fill_scratch(task, cache.coding() != BlockCoding::kRaw))
      filling_.where = Filling::kCache;
    else
      cache.abandon(static_cast<std::uint32_t>(task.block));
    return false;
  }
  if (kept->coding != BlockCoding::kRaw) {
    if (const Status decoded = scatter_coded(task, *kept, requests, runs); !decoded.ok()) {
      keeper_->note(decoded.error().what());
      return false;
    }
    add_kept_digests(task, requests, runs);
    return true;
  }
  std::vector<const std::byte*> fields(form_.num_fields());
  for (std::size_t f = 0; f < fields.size(); ++f) fields[f] = kept->data.data() + form_.offset(f, task.rows.count);
  scatter_kept(task, fields, requests, runs);
  return true;
}

/// Pieces are decoded one after the other into a buffer that stays in the cache, and moved on from there.
Status BlockServer::scatter_coded(const BlockTask& task, const KeptBlock& kept, std::span<const Request> requests,
                                  std::span<const RowRun> runs) {
  StageSpan span(counters_.clock, Stage::kCache);
  if (piece_.size_bytes() < piece_scratch_bytes(form_)) {
    HEADRACE_ASSIGN(piece_, PageBuffer::allocate(piece_scratch_bytes(form_)));
  }
  by_row_.clear();
  for (std::uint32_t run = 0; run < runs.size(); ++run)
    for (std::uint32_t i = runs[run].begin; i < runs[run].end; ++i)
      by_row_.push_back({requests[i].row, requests[i].position, run});
  std::sort(by_row_.begin(), by_row_.end(), [](const Wanted& a, const Wanted& b) { return a.row < b.row; });
  for (std::size_t f = 0; f < form_.num_fields(); ++f) {
    const Pieces pieces = Pieces::of(form_, f);
    std::uint64_t here = ~std::uint64_t{0};
    std::span<const std::byte> piece;
    for (const Wanted& w : by_row_) {
      std::byte* to = runs[w.run].fields[f] + std::uint64_t{w.position} * pieces.row_bytes;
      for (std::uint64_t part = 0; part < pieces.per_row; ++part) {
        const std::uint64_t wanted = w.row / pieces.rows * pieces.per_row + part;
        if (wanted != here) {
          HEADRACE_ASSIGN(
              piece, decode_piece(form_, task.rows.count, kept.coded, kept.data.bytes(), f, wanted, piece_.bytes()));
          here = wanted;
        }
        const std::uint64_t bytes = pieces.per_row > 1 ? piece.size() : pieces.row_bytes;
        copy_run(to, piece.data() + w.row % pieces.rows * pieces.row_bytes, bytes);
        to += bytes;
      }
    }
    span.add_bytes(by_row_.size() * pieces.row_bytes);
  }
  return {};
}

void BlockServer::scatter_kept(const BlockTask& task, std::span<const std::byte* const> fields,
                               std::span<const Request> requests, std::span<const RowRun> runs) {
  StageSpan span(counters_.clock, Stage::kScatter);
  for (const RowRun& run : runs) {
    const std::span<const Request> mine = requests.subspan(run.begin, run.end - run.begin);
    for (std::size_t f = 0; f < fields.size(); ++f) {
      scatter_dense(mine, fields[f], form_.row_bytes(f), run.fields[f]);
      span.add_bytes(mine.size() * form_.row_bytes(f));
    }
  }
  span.stop();
  add_kept_digests(task, requests, runs);
}

/// Of rows that were moved from where the block is kept.
void BlockServer::add_kept_digests(const BlockTask& task, std::span<const Request> requests,
                                   std::span<const RowRun> runs) {
  for (const RowRun& run : runs) {
    if (!run.digest) continue;
    std::uint64_t placed = 0;
    for (std::uint32_t i = run.begin; i < run.end; ++i) {
      const std::uint64_t row = task.rows.first + requests[i].row;
      placed += place_hash(task.file, row, run.first_position + requests[i].position);
      run.digest->sums.add(first_row_of_file_[task.file] + row);
    }
    run.digest->placed += placed * file_weights_[task.file];
  }
  finish_streaming();
  if (!task.first) return;
  std::uint64_t needed = 0;
  for (const auto& array : source_.files[task.file].arrays) needed += array->info().row_record_bytes();
  counters_.add_decodes(0, needed * task.rows.count);
}

/// Scratch for the block as it is decoded. \return False if there is no memory for it.
bool BlockServer::fill_scratch(const BlockTask& task, bool encodes) {
  const auto reserve = [](PageBuffer& buffer, std::uint64_t bytes) {
    if (buffer.size_bytes() >= bytes) return true;
    Result<PageBuffer> larger = PageBuffer::allocate(bytes);
    if (larger.ok()) buffer = std::move(*larger);
    return buffer.size_bytes() >= bytes;
  };
  std::uint64_t most = task.rows.count;
  for (const FileLayout& file : layout_.files) most = std::max(most, file.block_rows);
  if (!reserve(dense_, form_.bytes(most))) return false;
  if (encodes && !reserve(coded_, most_coded_bytes(form_, most))) return false;
  filling_.in_place = false;
  filling_.fields.resize(form_.num_fields());
  for (std::size_t f = 0; f < form_.num_fields(); ++f)
    filling_.fields[f] = dense_.data() + form_.offset(f, task.rows.count);
  return true;
}

/// Where a piece can be decoded to, so that its rows need not be moved: those of one field, whole, and of this block
/// only. Empty where that is not so.
std::span<std::byte> BlockServer::place_to_fill(std::uint32_t array, const std::vector<RowGeometry>& geometries,
                                                const Piece& piece, RowRange rows) const {
  const std::vector<std::size_t>& fields = fields_of_array_[array];
  if (fields.size() != 1 || piece.rows.first < rows.first || piece.rows.end() > rows.end()) return {};
  const std::uint64_t row_bytes = form_.row_bytes(fields[0]);
  if (!is_whole_row(geometries[0], row_bytes) || piece.decoded_bytes != piece.rows.count * row_bytes) return {};
  return {filling_.fields[fields[0]] + (piece.rows.first - rows.first) * row_bytes, piece.decoded_bytes};
}

/// Rows of one piece that has just been decoded.
void BlockServer::fill_rows(std::uint32_t array, const std::vector<RowGeometry>& geometries, RowRange piece_rows,
                            const DecodedPiece& decoded, RowRange rows) {
  const std::uint64_t begin = std::max(piece_rows.first, rows.first), end = std::min(piece_rows.end(), rows.end());
  const std::vector<std::size_t>& fields = fields_of_array_[array];
  for (std::size_t k = 0; k < fields.size(); ++k) {
    const RowGeometry& g = geometries[k];
    const std::uint64_t row_bytes = form_.row_bytes(fields[k]);
    const std::byte* from = decoded.data + (begin - piece_rows.first) * decoded.row_stride_bytes;
    std::byte* to = filling_.fields[fields[k]] + (begin - rows.first) * row_bytes;
    if (from == to) continue;  // see place_to_fill()
    const bool whole_rows = is_whole_row(g, row_bytes) && decoded.row_stride_bytes == row_bytes;
    if (whole_rows && filling_.in_place)  // of the store, which is read much later
      copy_run(to, from, (end - begin) * row_bytes);
    else if (whole_rows)
      std::memcpy(to, from, (end - begin) * row_bytes);
    else
      for (std::uint64_t row = begin; row < end; ++row, to += row_bytes, from += decoded.row_stride_bytes)
        copy_row(g, to, from);
  }
}

/// The block was not decoded whole: somebody else may.
void BlockServer::stop_filling(const BlockTask& task) {
  if (filling_.where == Filling::kStore) keeper_->rows->abandon(task.block);
  if (filling_.where == Filling::kCache) keeper_->blocks->abandon(static_cast<std::uint32_t>(task.block));
  filling_.where = Filling::kNowhere;
}

/// The block has been decoded, or has failed.
void BlockServer::finish_filling(const BlockTask& task) {
  if (!failures_.empty()) return stop_filling(task);
  StageSpan span(counters_.clock, Stage::kCache);
  span.add_bytes(form_.bytes(task.rows.count));
  if (filling_.where == Filling::kCache) {
    keeper_->blocks->put(static_cast<std::uint32_t>(task.block), task.rows.count, task.next_use, dense_.data(),
                         coded_.bytes());
    filling_.where = Filling::kNowhere;
    return;
  }
  RowStore& store = *keeper_->rows;
  if (!filling_.in_place) {
    const std::vector<const std::byte*> rows(filling_.fields.begin(), filling_.fields.end());
    if (const Status written = store.put(task.block, rows); !written.ok()) {
      stop_filling(task);
      return keeper_->give_up(fmt::format("{} Loading goes on without the cache.", written.error().what()));
    }
  }
  filling_.where = Filling::kNowhere;
  keeper_->counters.fills.fetch_add(1, std::memory_order_relaxed);
  if (store.publish(task.block)) keeper_->tell_complete();
}

}  // namespace headrace
