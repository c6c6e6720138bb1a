// Where every chunk of a dataset lies: a table in grid order, made once, then read without locks.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "format/hdf5/chunks/chunk_place.h"
#include "format/hdf5/dataset_info.h"
#include "format/hdf5/file_state.h"

namespace headrace::hdf5 {

class ChunkIndex {
 public:
  ChunkIndex() = default;
  /// Read the index by ourselves, without libhdf5. Time and memory follow the chunks that were written: 0.1 µs each,
  /// and 24 bytes (32 where most of the grid is absent).
  /// Errors: kCorruptData, those of reading.
  static Result<ChunkIndex> read(const FileState& state, const DatasetInfo& info);
  /// Return the same for an array whose chunks libhdf5 is going to read. Each is looked up there as well, at 0.5 µs.
  /// Errors: also kCorruptData if libhdf5 would read other bytes.
  static Result<ChunkIndex> read_confirmed(const LibraryLock&, FileState& state, hid_t dataset,
                                           const DatasetInfo& info);

  /// Return the place of a cell (row-major in the grid). Threads: any.
  [[nodiscard]] ChunkPlace at(std::uint64_t cell) const;

  /// Return the first cell from `cell` on that was written; ~0 if there is none. Threads: any.
  [[nodiscard]] std::uint64_t next_written(std::uint64_t cell) const;

 private:
  ChunkIndex(std::uint64_t cells, const FoundChunks& found);

  std::vector<ChunkPlace> dense_;     // empty if sparse
  std::vector<std::uint64_t> cells_;  // sparse: ascending
  std::vector<ChunkPlace> places_;
};

/// Return the bytes that all chunks take in the file. Nothing is kept of the index, however large.
/// Errors: as ChunkIndex::read(); a chunk with two places is none here, and counts twice.
Result<std::uint64_t> stored_bytes_of_chunks(const FileState& state, const DatasetInfo& info);

}  // namespace headrace::hdf5
