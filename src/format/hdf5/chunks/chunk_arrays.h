// The chunk indexes that newer files have beside B-trees: one chunk, chunks side by side, fixed and extensible arrays
// (specification III.C to III.H and IV.A.2.i, layout message 4), and version 2 B-trees.
//
// They are read here, without libhdf5: 1.10 takes counts and sizes from them that it does not compare with anything,
// and walks along every entry that they claim to have.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "format/hdf5/chunks/chunk_place.h"
#include "format/hdf5/structure/chunk_layout.h"
#include "format/hdf5/structure/superblock.h"
#include "storage/random_access_file.h"

namespace headrace::hdf5 {

/// What an index belongs to.
struct ChunkGrid {
  std::vector<std::uint64_t> cells;       ///< Chunks along each axis of the shape.
  std::vector<std::uint64_t> most_cells;  ///< Those of the largest shape; kUnlimited where it has no bound.
  std::uint64_t chunk_bytes = 0;          ///< Bytes of a chunk before filters.
  bool filtered = false;
  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};
};

/// Give `take` the chunks that were written inside `grid.cells`, in the order of the index, which need not be that of
/// the cells. Only a damaged tree has a cell twice. \param layout  Of any kind but a version 1 B-tree.
/// Errors: kCorruptData; those of reading and of `take`.
Status read_chunk_array(const RandomAccessFile& file, const Superblock& superblock, const ChunkLayout& layout,
                        const ChunkGrid& grid, const TakeChunk& take);

}  // namespace headrace::hdf5
