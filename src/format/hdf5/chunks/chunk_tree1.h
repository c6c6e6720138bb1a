// The version 1 B-tree of a chunked dataset, walked by ourselves: the index of every file that is written for old
// readers, which is h5py's default. It has no checksum, and libhdf5 1.10 can only be asked for one cell of the grid
// after the other, so a damaged shape would cost a question for each cell that it claims.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "format/hdf5/chunks/chunk_place.h"
#include "format/hdf5/structure/chunk_layout.h"
#include "storage/random_access_file.h"

namespace headrace::hdf5 {

/// Give `take` all chunks by ascending cell (specification III.A.1, node type 1). Time follows the stored chunks: about
/// 0.1 µs each. \param grid  Chunks along each axis.
/// Errors: kCorruptData for anything that is not a tree of ascending cells inside the grid; those of reading and of
/// `take`.
Status read_chunk_tree(const RandomAccessFile& file, const Superblock& superblock, const ChunkLayout& layout,
                       const std::vector<std::uint64_t>& grid, const TakeChunk& take);

}  // namespace headrace::hdf5
