#include "assembly/kept/block_filler.h"

#include <algorithm>
#include <cstring>

#include "assembly/copying/row_copy.h"
#include "base/clock.h"

namespace headrace {
namespace {

/// True if a row of the piece is the row of the field, byte for byte.
bool is_whole_row(const RowGeometry& g, std::uint64_t row_bytes) {
  return g.loops.empty() && g.src_offset_bytes == 0 && g.run_bytes == row_bytes;
}

}  // namespace

BlockFiller::Need BlockFiller::need(const BlockForm& form, const BlockLayout& layout) {
  const std::uint64_t rows = layout.most_stored_rows();
  return {PageBuffer::charge_for(form.bytes(rows)), PageBuffer::charge_for(most_coded_bytes(form, rows))};
}

/// \return False if there is no memory for the block.
bool BlockFiller::use_scratch(bool encodes) {
  const auto reserve = [](PageBuffer& buffer, std::uint64_t bytes) {
    if (buffer.size_bytes() >= bytes) return true;
    Result<PageBuffer> larger = PageBuffer::allocate(bytes);
    if (larger.ok()) buffer = std::move(*larger);
    return buffer.size_bytes() >= bytes;
  };
  const std::uint64_t most = std::max(task_.rows.count, layout_.most_stored_rows());
  if (!reserve(dense_, form_.bytes(most))) return false;
  if (encodes && !reserve(coded_, most_coded_bytes(form_, most))) return false;
  in_place_ = false;
  fields_.resize(form_.num_fields());
  for (std::size_t f = 0; f < form_.num_fields(); ++f) fields_[f] = dense_.data() + form_.offset(f, task_.rows.count);
  return true;
}

bool BlockFiller::begin_in_store(DecodedCache& decoded_cache, RowStore& store, const BlockTask& task) {
  const std::uint64_t start = now_ns();
  const StageSpan span(clock_, Stage::kCache);  // fresh memory
  decoded_cache_ = &decoded_cache;
  task_ = task;
  where_ = kStore;
  store_ = &store;
  in_place_ = store.writable(0, task.block) != nullptr;
  fields_.assign(form_.num_fields(), nullptr);
  if (in_place_)
    for (std::size_t f = 0; f < form_.num_fields(); ++f) {
      fields_[f] = store.writable(f, task.block);
      make_resident({fields_[f], task.rows.count * form_.row_bytes(f)});
    }
  else if (!use_scratch(false))
    abandon();
  keep_ns_ += now_ns() - start;
  return active();
}

bool BlockFiller::begin_in_cache(DecodedCache& decoded_cache, const BlockTask& task) {
  decoded_cache_ = &decoded_cache;
  task_ = task;
  where_ = kCache;
  if (!use_scratch(decoded_cache.blocks->coding() != BlockCoding::kRaw)) abandon();
  return active();
}

std::span<std::byte> BlockFiller::place(std::span<const std::size_t> fields, const RowGeometry& geometry,
                                        const Piece& piece) const {
  const RowRange rows = task_.rows;
  if (!active() || fields.size() != 1 || piece.rows.first < rows.first || piece.rows.end() > rows.end()) return {};
  const std::uint64_t row_bytes = form_.row_bytes(fields[0]);
  if (!is_whole_row(geometry, row_bytes) || piece.decoded_bytes != piece.rows.count * row_bytes) return {};
  return {fields_[fields[0]] + (piece.rows.first - rows.first) * row_bytes, piece.decoded_bytes};
}

void BlockFiller::fill(std::span<const std::size_t> fields, std::span<const RowGeometry> geometries,
                       const RowsAt& decoded, std::uint64_t first_row) {
  const std::uint64_t begin = std::max(decoded.first_row, first_row);
  const std::uint64_t end = std::min(decoded.first_row + decoded.count, first_row + task_.rows.count);
  if (begin >= end) return;
  const std::uint64_t start = now_ns();
  for (std::size_t k = 0; k < fields.size(); ++k) {
    const RowGeometry& g = geometries[k];
    const std::uint64_t row_bytes = form_.row_bytes(fields[k]);
    const std::byte* from = decoded.data + (begin - decoded.first_row) * decoded.stride_bytes;
    std::byte* to = fields_[fields[k]] + (begin - first_row) * row_bytes;
    if (from == to) continue;  // see place()
    const bool whole_rows = is_whole_row(g, row_bytes) && decoded.stride_bytes == row_bytes;
    if (whole_rows && in_place_)  // of the store, which is read much later
      copy_run(to, from, (end - begin) * row_bytes);
    else if (whole_rows)
      std::memcpy(to, from, (end - begin) * row_bytes);
    else
      for (std::uint64_t row = begin; row < end; ++row, to += row_bytes, from += decoded.stride_bytes)
        copy_row(g, to, from);
  }
  keep_ns_ += now_ns() - start;
}

void BlockFiller::abandon() {
  if (where_ == kStore) store_->abandon(task_.block);
  if (where_ == kCache) decoded_cache_->blocks->abandon(static_cast<std::uint32_t>(task_.block));
  where_ = kNowhere;
}

void BlockFiller::finish() {
  const std::uint64_t start = now_ns();
  finish_streaming();
  put_block();
  keep_ns_ += now_ns() - start;
}

void BlockFiller::put_block() {
  StageSpan span(clock_, Stage::kCache);
  span.add_bytes(form_.bytes(task_.rows.count));
  if (where_ == kCache) {
    decoded_cache_->blocks->put(static_cast<std::uint32_t>(task_.block), task_.rows.count, task_.next_use,
                                dense_.data(), coded_.bytes());
    where_ = kNowhere;
    return;
  }
  RowStore& store = *store_;
  if (!in_place_) {
    const std::vector<const std::byte*> rows(fields_.begin(), fields_.end());
    if (const Status written = store.put(task_.block, rows); !written.ok()) {
      abandon();
      return decoded_cache_->disable(DecodedCache::text_of(written.error(), DecodedCache::kGoesOn));
    }
  }
  where_ = kNowhere;
  decoded_cache_->counters.fills.fetch_add(1, std::memory_order_relaxed);
  if (store.publish(task_.block)) decoded_cache_->notify_complete();
}

}  // namespace headrace
