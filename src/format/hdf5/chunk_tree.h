// The version 1 B-tree of a chunked dataset, walked by ourselves: the index of every file that is written for old
// readers, which is h5py's default. It has no checksum, and libhdf5 1.10 can only be asked for one cell of the grid
// after the other, so a damaged shape would cost a question for each cell that it claims.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "format/hdf5/chunk_layout.h"
#include "storage/random_access_file.h"

namespace headrace::hdf5 {

/// A chunk as the tree describes it.
struct TreeChunk {
  std::uint64_t cell = 0;     ///< Row-major in the grid.
  std::uint64_t address = 0;  ///< In the file, user block included.
  std::uint32_t size_bytes = 0, filter_mask = 0;
};

/// All chunks by ascending cell (specification III.A.1, node type 1). Time and memory follow the stored chunks: about
/// 0.1 µs each. \param grid  Chunks along each axis.
/// Errors: kCorruptData for anything that is not a tree of ascending cells inside the grid; those of reading.
Result<std::vector<TreeChunk>> read_chunk_tree(const RandomAccessFile& file, const Superblock& superblock,
                                               const ChunkLayout& layout, const std::vector<std::uint64_t>& grid);

}  // namespace headrace::hdf5
