// Where chunks lie.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace headrace::hdf5 {

/// Place of one chunk. 24 bytes.
struct ChunkPlace {
  static constexpr std::uint64_t kAbsent = ~std::uint64_t{0};
  std::uint64_t address = kAbsent;  ///< In the file, user block included; kAbsent: never written, fill values.
  std::uint64_t size_bytes = 0;     ///< As stored.
  std::uint32_t filter_mask = 0;    ///< Bit i: filter i was skipped.
  [[nodiscard]] bool absent() const { return address == kAbsent; }
};

/// Takes the cell (row-major in the grid) and the place of a chunk that was written.
using TakeChunk = std::function<Status(std::uint64_t cell, const ChunkPlace& place)>;

/// Chunks with their cells.
using FoundChunks = std::vector<std::pair<std::uint64_t, ChunkPlace>>;

/// Sort by cell. Errors: kCorruptData if one cell has two places.
Status put_in_order(FoundChunks& found);

/// Return kCorruptData of stage "index".
Error index_damaged(const std::string& why);

}  // namespace headrace::hdf5
