#include "format/hdf5/arrays/chunked_array.h"
#include "base/memory/fill_elements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "format/hdf5/types/element_conversion.h"
#include "format/hdf5/types/native_bytes.h"

namespace headrace::hdf5 {
ChunkedArray::ChunkedArray(std::shared_ptr<FileState> state, DatasetInfo info, CodecChain chain,
                           std::vector<std::byte> fill_element)
    : ArrayBase(std::move(state), std::move(info)), chain_(std::move(chain)), fill_element_(std::move(fill_element)) {
  for (std::size_t d = 1; d < info_.grid.size(); ++d) across_ *= static_cast<std::uint32_t>(info_.grid[d]);
  if (!info_.edges_unfiltered) return;
  for (std::uint32_t a = 0; a < across_; ++a) {
    const std::vector<std::uint64_t> at = coordinates(a);
    bool partial = false;
    for (std::size_t d = 1; d < info_.grid.size(); ++d)
      partial = partial || (at[d - 1] + 1) * info_.array.chunk_shape[d] > info_.array.shape[d];
    partial_across_.push_back(partial);
  }
}

std::vector<std::uint64_t> ChunkedArray::coordinates(std::uint64_t across) const {
  std::vector<std::uint64_t> at(info_.grid.size() - 1);
  for (std::size_t d = at.size(); d-- > 0; across /= info_.grid[d + 1]) at[d] = across % info_.grid[d + 1];
  return at;
}

bool ChunkedArray::is_partial(std::uint64_t row_chunk, std::uint32_t across) const {
  return partial_across_[across] || (row_chunk + 1) * info_.array.chunk_shape[0] > info_.array.shape[0];
}

std::string ChunkedArray::piece_name(const Piece& piece) const {
  std::vector<std::uint64_t> at = coordinates(piece.across);
  at.insert(at.begin(), piece.rows.first / info_.array.chunk_shape[0]);
  return fmt::format("({})", fmt::join(at, ","));
}

Result<const ChunkIndex*> ChunkedArray::index() const {
  if (const ChunkIndex* made = ready_.load(std::memory_order_acquire)) return made;
  const std::lock_guard lock(index_mutex_);
  if (const ChunkIndex* made = ready_.load(std::memory_order_relaxed)) return made;
  if (index_error_) return *index_error_;
  auto read = ChunkIndex::read(*state_, info_);
  if (!read.ok()) {
    index_error_ = placed(std::move(read.error()));
    return *index_error_;
  }
  index_ = std::move(*read);
  ready_.store(&index_, std::memory_order_release);
  return &index_;
}

Result<Piece> ChunkedArray::piece_at(const ChunkIndex& index, std::uint64_t row_chunk, std::uint32_t across) const {
  const std::uint64_t chunk_rows = info_.array.chunk_shape[0];
  Piece piece;
  piece.id = row_chunk * across_ + across;
  piece.rows.first = row_chunk * chunk_rows;
  piece.rows.count = std::min(chunk_rows, info_.array.shape[0] - piece.rows.first);
  piece.decoded_bytes = info_.chunk_bytes;
  piece.across = across;
  const ChunkPlace place = index.at(piece.id);
  if (place.absent()) return piece;
  piece.stored = {state_->driver->file.get(), {place.address, place.size_bytes}};
  const bool unfiltered = chain_.empty() || (info_.edges_unfiltered && is_partial(row_chunk, across));
  piece.filter_mask = unfiltered ? ~std::uint32_t{0} : place.filter_mask;
  const std::uint64_t end_bytes = state_->driver->file->size();
  const auto damaged = [&](std::string why) {
    return placed(Error(ErrorCode::kCorruptData, std::move(why)).with_stage("index"), piece);
  };
  if (place.address > end_bytes || place.size_bytes > end_bytes - place.address)
    return damaged(fmt::format("the chunk reaches past the end of the file of {} bytes", end_bytes));
  if (unfiltered && place.size_bytes != info_.stored_form.chunk_bytes)
    return damaged(fmt::format("the unfiltered chunk has {} stored bytes, {} expected", place.size_bytes,
                               info_.stored_form.chunk_bytes));
  if (place.size_bytes == 0 || place.size_bytes > chain_.max_stored_bytes())
    return damaged(fmt::format("{} stored bytes for a chunk of {}, at most {} can be", place.size_bytes,
                               info_.stored_form.chunk_bytes, chain_.max_stored_bytes()));
  return piece;
}

Status ChunkedArray::locate(RowRange rows, std::vector<Piece>& out) const {
  HEADRACE_TRY(check_rows(rows));
  if (rows.count == 0) return {};
  HEADRACE_ASSIGN(const ChunkIndex* index, this->index());
  const std::uint64_t chunk_rows = info_.array.chunk_shape[0];
  for (std::uint64_t row_chunk = rows.first / chunk_rows; row_chunk <= (rows.end() - 1) / chunk_rows; ++row_chunk)
    for (std::uint32_t across = 0; across < across_; ++across) {
      HEADRACE_ASSIGN(const Piece piece, piece_at(*index, row_chunk, across));
      out.push_back(piece);
    }
  return {};
}

Status ChunkedArray::locate_cells(std::span<const std::uint64_t> cells, std::vector<Piece>& out) const {
  if (cells.empty()) return {};
  HEADRACE_ASSIGN(const ChunkIndex* index, this->index());
  const std::uint64_t num_cells = info_.grid[0] * across_;
  out.reserve(out.size() + cells.size());
  for (const std::uint64_t cell : cells) {
    if (cell >= num_cells)
      return placed(Error(ErrorCode::kInvalidArgument, fmt::format("chunk {} of a grid of {}", cell, num_cells)));
    HEADRACE_ASSIGN(const Piece piece, piece_at(*index, cell / across_, static_cast<std::uint32_t>(cell % across_)));
    out.push_back(piece);
  }
  return {};
}

Result<std::uint64_t> ChunkedArray::locate_written(RowRange rows, std::vector<Piece>& out) const {
  HEADRACE_TRY(check_rows(rows));
  if (rows.count == 0) return std::uint64_t{0};
  HEADRACE_ASSIGN(const ChunkIndex* index, this->index());
  const std::uint64_t chunk_rows = info_.array.chunk_shape[0];
  const std::uint64_t first = rows.first / chunk_rows * across_, end = ((rows.end() - 1) / chunk_rows + 1) * across_;
  std::uint64_t absent = end - first;
  for (std::uint64_t cell = index->next_written(first); cell < end; cell = index->next_written(cell + 1)) {
    HEADRACE_ASSIGN(const Piece piece, piece_at(*index, cell / across_, static_cast<std::uint32_t>(cell % across_)));
    out.push_back(piece);
    --absent;
  }
  return absent;
}

/// There is no filter to undo.
bool ChunkedArray::as_stored(const Piece& piece) const {
  const std::uint32_t all = chain_.codecs().size() >= 32 ? ~0U : (1U << chain_.codecs().size()) - 1;
  return (piece.filter_mask & all) == all;
}

Result<DecodedPiece> ChunkedArray::decode(const Piece& piece, std::span<const std::byte> stored,
                                          const DecodeScratch& scratch) const {
  const std::size_t row_stride = static_cast<std::size_t>(info_.chunk_bytes / info_.array.chunk_shape[0]);
  const bool absent = piece.stored.range.size == 0;
  if (stored.size() != piece.stored.range.size)
    return placed(
        Error(ErrorCode::kInternal, fmt::format("{} bytes given, {} needed", stored.size(), piece.stored.range.size)),
        piece);
  const bool as_stored = this->as_stored(piece);
  const bool converts = info_.element.memory_type.ok();
  if (!absent && as_stored && stored.size() != info_.stored_form.chunk_bytes)
    return placed(Error(ErrorCode::kCorruptData, fmt::format("the unfiltered chunk has {} stored bytes, {} expected",
                                                             stored.size(), info_.stored_form.chunk_bytes)),
                  piece);
  if (!absent && as_stored && !converts && info_.element.is_native()) return DecodedPiece{stored.data(), row_stride};

  const ScratchNeed need = scratch_need(0);
  const std::uint64_t aside_bytes = std::min(scratch.ping.size(), scratch.pong.size());
  if (scratch.out.size() < need.out_bytes || (converts && aside_bytes < need.filter_bytes))
    return placed(
        Error(ErrorCode::kInternal, fmt::format("scratch of {} bytes and {} aside, {} and {} needed",
                                                scratch.out.size(), aside_bytes, need.out_bytes, need.filter_bytes)),
        piece);
  const std::span<std::byte> out = scratch.out.first(static_cast<std::size_t>(info_.chunk_bytes));
  if (absent) {
    fill_elements(fill_element_, fill_element_.size(), out);
    return DecodedPiece{out.data(), row_stride};
  }
  const std::uint64_t room_bytes = stored_room_bytes(info_.element, elements());
  const CodecScratch aside{scratch.ping,
                           scratch.pong.first(static_cast<std::size_t>(scratch.pong.size() - room_bytes))};
  const std::span<std::byte> decoded = converts ? stored_room(info_.element, out, scratch.pong) : out;
  Status status;
  if (!as_stored)
    status = chain_.decode(stored, piece.filter_mask, decoded, aside);
  else if (!converts)
    std::memcpy(out.data(), stored.data(), out.size());
  if (status.ok() && converts) status = convert(info_.element, as_stored ? stored : decoded, out, aside);
  if (status.ok() && !converts) to_native(info_.element, out);
  if (!status.ok()) return placed(std::move(status.error()), piece);
  return DecodedPiece{out.data(), row_stride};
}

bool ChunkedArray::is_plain(const Piece& piece) const {
  return as_stored(piece) && piece.stored.range.size == info_.chunk_bytes && !info_.element.memory_type.ok() &&
         info_.element.is_native();
}

ScratchNeed ChunkedArray::scratch_need(std::uint64_t) const {
  return {info_.chunk_bytes, std::max(chain_.scratch_bytes(), conversion_bytes(info_.element, elements())) +
                                 stored_room_bytes(info_.element, elements())};
}

ArrayBase::RowBox ChunkedArray::row_box_of(std::uint32_t across) const {
  RowBox box;
  const std::vector<std::uint64_t> at = coordinates(across);
  for (std::size_t d = 1; d < info_.grid.size(); ++d) {
    const std::uint64_t chunk = info_.array.chunk_shape[d], start = at[d - 1] * chunk;
    box.src_shape.push_back(chunk);
    box.dst_start.push_back(start);
    box.count.push_back(std::min(chunk, info_.array.shape[d] - start));
  }
  return box;
}

}  // namespace headrace::hdf5
