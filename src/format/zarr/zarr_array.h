// ZarrArray: an array of a directory store, chunk by chunk.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/threads/fork_safe_mutex.h"
#include "codec/codec_chain.h"
#include "format/chunk_grid.h"
#include "format/zarr/array_metadata.h"
#include "format/zarr/seen_files.h"
#include "format/zarr/shard_index.h"

namespace headrace::zarr {

/// Where an array lies.
struct ArrayPlace {
  std::string store;                                 ///< Path of the store, for messages.
  std::string directory;                             ///< The array's own.
  std::shared_ptr<const RandomAccessFile> metadata;  ///< The file that describes it.
};

class ZarrArray final : public ArrayReader {
 public:
  /// \param info  As describe() makes it.
  ZarrArray(ArrayPlace place, ArrayMetadata metadata, ArrayInfo info, CodecChain chain);

  [[nodiscard]] const ArrayInfo& info() const override { return info_; }
  Status locate(RowRange rows, std::vector<Piece>& out) const override;
  Status locate_cells(std::span<const std::uint64_t> cells, std::vector<Piece>& out) const override;
  Result<std::uint64_t> locate_written(RowRange rows, std::vector<Piece>& out) const override;
  Result<DecodedPiece> decode(const Piece&, std::span<const std::byte> stored, const DecodeScratch&) const override;
  [[nodiscard]] bool is_plain(const Piece& piece) const override;
  [[nodiscard]] RowGeometry geometry(std::uint32_t across, std::size_t column) const override;
  [[nodiscard]] std::uint32_t pieces_across() const override { return grid_.across(); }
  [[nodiscard]] ScratchNeed scratch_need(std::uint64_t max_rows) const override;
  [[nodiscard]] std::string piece_name(const Piece& piece) const override;
  [[nodiscard]] Status check_unchanged() const override;
  [[nodiscard]] bool has_chunk_files() const override { return true; }
  [[nodiscard]] std::vector<OutsideFile> other_files() const override;
  [[nodiscard]] Result<std::optional<ChunkFiles>> chunk_files() const override;

 private:
  Result<Piece> piece_at(std::uint64_t cell) const;
  Status locate_file(const std::vector<std::uint64_t>& file, std::uint64_t in_file, Piece& piece) const;
  [[nodiscard]] Status check_never_seen(const std::vector<std::uint64_t>& file) const;
  Result<std::shared_ptr<const Shard>> shard_at(const std::string& path) const;
  Result<const std::vector<std::uint64_t>*> written_files() const;
  Result<DecodedPiece> decode_values(const Piece& piece, std::span<const std::byte> stored,
                                     const DecodeScratch& scratch) const;
  [[nodiscard]] Error placed(Error error) const;
  [[nodiscard]] Error placed(Error error, const Piece& piece) const;
  [[nodiscard]] std::string path_of(const std::vector<std::uint64_t>& file) const;

  const ArrayPlace place_;
  const ArrayMetadata metadata_;
  const ArrayInfo info_;
  const CodecChain chain_;
  const ChunkGrid grid_, files_;  // of chunks, and of the files that hold them
  const std::uint64_t chunk_bytes_;
  mutable ShardCache shards_;
  mutable SeenFiles seen_;  // chunks that were there once: absent later, they are an error, not a fill value
  mutable ForkSafeMutex written_mutex_;
  mutable std::optional<std::vector<std::uint64_t>> written_;  // numbers of the files that are there, ascending
};

/// Describe an array for its readers. \param path  In the store.
ArrayInfo describe(const std::string& path, const ArrayMetadata& metadata, const CodecChain& chain);

}  // namespace headrace::zarr
