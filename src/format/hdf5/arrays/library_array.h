// The slow way: rows read by libhdf5's own H5Dread, one call at a time in the process.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "format/hdf5/arrays/array_base.h"
#include "format/hdf5/chunks/chunk_index.h"

namespace headrace::hdf5 {

/// What libhdf5 can read and we cannot: chunks with filters that only a plugin has.
/// Pieces are whole rows, grouped by the chunk's rows so that a chunk is decoded once.
class LibraryArray final : public RowsArray {
 public:
  /// Make an array whose `dataset` and its file stay open in libhdf5.
  LibraryArray(const LibraryLock& library, std::shared_ptr<FileState> state, DatasetInfo info, Id dataset);
  ~LibraryArray() override;

  /// Locate pieces. The first call checks the chunk index, for a damaged one would read as fill values.
  Status locate(RowRange rows, std::vector<Piece>& out) const override;
  Result<std::uint64_t> locate_written(RowRange rows, std::vector<Piece>& out) const override;
  /// Decode through libhdf5. Blocks: until no other thread is in it.
  Result<DecodedPiece> decode(const Piece&, std::span<const std::byte> stored, const DecodeScratch&) const override;
  [[nodiscard]] ScratchNeed scratch_need(std::uint64_t max_rows) const override;
  [[nodiscard]] std::string piece_name(const Piece& piece) const override;
  [[nodiscard]] std::uint64_t slow_pieces() const override { return slow_pieces_.load(std::memory_order_relaxed); }

 private:
  Status check_index() const;
  [[nodiscard]] Piece piece_at(std::uint64_t row_chunk) const;
  [[nodiscard]] std::uint64_t across() const;  // chunks across a row
  [[nodiscard]] bool is_partial(std::uint64_t cell) const;
  Status check_streams(RowRange rows) const;
  Status read(const LibraryLock&, RowRange rows, std::span<std::byte> out) const;

  Id dataset_;
  mutable std::atomic<bool> index_checked_{false};
  mutable std::optional<Error> index_error_;
  mutable ChunkIndex index_;
  mutable std::atomic<std::uint64_t> slow_pieces_{0};
};

}  // namespace headrace::hdf5
