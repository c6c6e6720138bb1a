// Where every chunk of a dataset lies: a table in grid order, made once, then read without locks.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "format/hdf5/dataset_info.h"
#include "format/hdf5/file_state.h"

namespace headrace::hdf5 {

/// Place of one chunk. 24 bytes.
struct ChunkPlace {
  static constexpr std::uint64_t kAbsent = ~std::uint64_t{0};
  std::uint64_t address = kAbsent;  ///< In the file, user block included; kAbsent: never written, fill values.
  std::uint64_t size_bytes = 0;     ///< As stored.
  std::uint32_t filter_mask = 0;    ///< Bit i: filter i was skipped.
  [[nodiscard]] bool absent() const { return address == kAbsent; }
};

class ChunkIndex {
 public:
  ChunkIndex() = default;
  /// Read a version 1 B-tree by ourselves, without libhdf5: 0.1 µs a chunk. Errors: kCorruptData, those of reading.
  static Result<ChunkIndex> read_tree(const FileState& state, const DatasetInfo& info);
  /// Read the index: a version 1 B-tree by ourselves, the others through the recording driver.
  /// Time and memory follow the chunks that were written, not the grid that the shape declares: 0.1 µs each in a
  /// version 1 B-tree, 0.5 µs in others, and 24 bytes (32 where most of the grid is absent). In fixed and
  /// extensible arrays, and version 2 B-trees with many chunks, it is every cell up to the last one written: a sparse
  /// one costs up to 0.5 µs for each of at most kGridLimit cells.
  /// Errors: kCorruptData if chunks that the index counts cannot be found through it: they would read as fill values.
  static Result<ChunkIndex> read(const LibraryLock&, FileState& state, hid_t dataset, const DatasetInfo& info);

  /// Place of a cell (row-major in the grid). Threads: any.
  [[nodiscard]] ChunkPlace at(std::uint64_t cell) const;

  /// The first cell from `cell` on that was written; ~0 if there is none. Threads: any.
  [[nodiscard]] std::uint64_t next_written(std::uint64_t cell) const;

 private:
  ChunkIndex(std::uint64_t cells, std::vector<std::pair<std::uint64_t, ChunkPlace>> found);

  std::vector<ChunkPlace> dense_;     // empty if sparse
  std::vector<std::uint64_t> cells_;  // sparse: ascending
  std::vector<ChunkPlace> places_;
};

}  // namespace headrace::hdf5
