// Extensible arrays (specification III.G), the chunk index of an array of which one axis has no bounds.
#pragma once

#include "format/hdf5/chunks/fixed_array.h"

namespace headrace::hdf5 {

/// Read the extensible array whose header is at `address` (as in the file) and give `take` the entries below `end`
/// that were written, ascending. Blocks that were never written are left out, so the time follows what the file holds.
/// Errors: kCorruptData; those of reading and of `take`.
Status read_extensible_array(const RandomAccessFile& file, const Superblock& superblock, std::uint64_t address,
                             const ArrayEntries& entries, std::uint64_t end, const TakeEntry& take);

}  // namespace headrace::hdf5
