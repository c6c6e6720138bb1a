// Chunked arrays: located through the chunk index, decoded by our own codecs, without a lock unless numbers are
// converted.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "base/threads/fork_safe_mutex.h"
#include "codec/codec_chain.h"
#include "format/hdf5/arrays/array_base.h"
#include "format/hdf5/chunks/chunk_index.h"

namespace headrace::hdf5 {

class ChunkedArray final : public ArrayBase {
 public:
  /// Make an array whose index is read when it is first needed, without libhdf5.
  ChunkedArray(std::shared_ptr<FileState> state, DatasetInfo info, CodecChain chain,
               std::vector<std::byte> fill_element);

  bool remember(PackedWriter& out) const override;
  Status locate(RowRange rows, std::vector<Piece>& out) const override;
  Status locate_cells(std::span<const std::uint64_t> cells, std::vector<Piece>& out) const override;
  Result<std::uint64_t> locate_written(RowRange rows, std::vector<Piece>& out) const override;
  Result<DecodedPiece> decode(const Piece&, std::span<const std::byte> stored, const DecodeScratch&) const override;
  [[nodiscard]] std::uint32_t pieces_across() const override { return across_; }
  [[nodiscard]] bool is_plain(const Piece& piece) const override;
  [[nodiscard]] ScratchNeed scratch_need(std::uint64_t max_rows) const override;
  [[nodiscard]] std::string piece_name(const Piece& piece) const override;
  [[nodiscard]] RowBox row_box_of(std::uint32_t across) const override;

 private:
  Result<const ChunkIndex*> index() const;
  Result<Piece> piece_at(const ChunkIndex& index, std::uint64_t row_chunk, std::uint32_t across) const;
  /// Return the coordinates along the axes after the first of a chunk across the row.
  [[nodiscard]] std::vector<std::uint64_t> coordinates(std::uint64_t across) const;
  [[nodiscard]] bool as_stored(const Piece& piece) const;
  [[nodiscard]] bool is_partial(std::uint64_t row_chunk, std::uint32_t across) const;
  /// Return the elements of a chunk, padding included.
  [[nodiscard]] std::uint64_t elements() const { return info_.chunk_bytes / info_.element.record_bytes; }

  CodecChain chain_;
  std::vector<std::byte> fill_element_;
  std::uint32_t across_ = 1;
  std::vector<bool> partial_across_;  // chunks that reach past the end of an axis after the first

  // Made at the first locate(), under the mutex; then only read.
  mutable std::atomic<const ChunkIndex*> ready_{nullptr};
  mutable ForkSafeMutex index_mutex_;
  mutable ChunkIndex index_;
  mutable std::optional<Error> index_error_;
};

}  // namespace headrace::hdf5
