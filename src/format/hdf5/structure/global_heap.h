// Global heaps, checked before libhdf5 reads them: 1.10 follows the sizes of their objects, in circles if one is 0, and
// takes an object's index on trust.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "format/hdf5/structure/superblock.h"
#include "storage/random_access_file.h"

namespace headrace::hdf5 {

/// Mappings that a virtual dataset may have: libhdf5 takes 6.5 KB for each, several times over.
inline constexpr std::uint64_t kMappingsLimit = 10'000;

/// Check that the objects of the global heap at `address` (as in the file; specification III.E) lie within it, and that
/// object `index` is there and ends with its checksum, as the mappings of a virtual dataset do (III.E.1).
/// Errors: kCorruptData; kUnsupported for more mappings than kMappingsLimit; those of reading.
Status check_global_heap(const RandomAccessFile& file, const Superblock& superblock, std::uint64_t address,
                         std::uint64_t index);

}  // namespace headrace::hdf5
