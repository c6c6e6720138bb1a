// Fixed arrays (specification III.F), the chunk index of an array whose largest shape has bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/result.h"
#include "format/hdf5/structure/superblock.h"
#include "storage/random_access_file.h"

namespace headrace::hdf5 {

/// What the entries of an array of chunks must be. The header of the array says it a second time.
struct ArrayEntries {
  std::uint64_t client = 0;  ///< 0: of chunks without filters; 1: of filtered ones.
  std::uint64_t entry_bytes = 0;
};

/// Takes an entry and its number.
using TakeEntry = std::function<Status(std::uint64_t, std::span<const std::byte>)>;

/// Read the fixed array whose header is at `address` (as in the file) and give `take` the entries below `end` that
/// were written, ascending. Parts that were never written are left out.
/// \param most  The entries that it must have.
/// Errors: kCorruptData; those of reading and of `take`.
Status read_fixed_array(const RandomAccessFile& file, const Superblock& superblock, std::uint64_t address,
                        const ArrayEntries& entries, std::uint64_t most, std::uint64_t end, const TakeEntry& take);

}  // namespace headrace::hdf5
