// Fixed-array chunk indexes, checked before libhdf5 looks chunks up in them: 1.10 takes the number of entries and their
// size from the index, and a chunk's number from the shape.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "format/hdf5/superblock.h"
#include "storage/random_access_file.h"

namespace headrace::hdf5 {

/// Check that the header of the fixed array at `address` (as in the file; specification III.H.1) has an entry for every
/// chunk that the array may ever have, of the size that chunks of `chunk_bytes` need.
/// Errors: kCorruptData; those of reading.
Status check_fixed_array(const RandomAccessFile& file, const Superblock& superblock, std::uint64_t address,
                         std::uint64_t most_chunks, std::uint64_t chunk_bytes);

}  // namespace headrace::hdf5
