// Where every chunk of a dataset lies: a table in grid order, made once, then read without locks.
#pragma once

#include <cstdint>
#include <vector>

#include "format/hdf5/dataset_info.h"
#include "format/hdf5/recording_driver.h"

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
  /// Read the index through the recording driver.
  /// Time: about 0.5 µs a chunk, up to the last one that was written. Memory: 24 bytes a chunk; grids that are mostly
  /// absent keep only what is there (32 bytes each), so a small file cannot ask for a large table.
  /// Errors: kCorruptData if chunks that the index counts cannot be found through it: they would read as fill values.
  static Result<ChunkIndex> read(const Session&, DriverState& state, hid_t dataset, const DatasetInfo& info);

  /// Place of a cell (row-major in the grid). Threads: any.
  [[nodiscard]] ChunkPlace at(std::uint64_t cell) const;

 private:
  std::vector<ChunkPlace> dense_;     // empty if sparse
  std::vector<std::uint64_t> cells_;  // sparse: ascending
  std::vector<ChunkPlace> places_;
};

}  // namespace headrace::hdf5
