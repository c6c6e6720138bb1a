// Version 2 B-trees (specification III.A.2), which index chunks, links, attributes and large objects of heaps.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/result.h"
#include "format/hdf5/structure/superblock.h"
#include "storage/random_access_file.h"

namespace headrace::hdf5 {

/// What a tree must be. The header of the file says it a second time.
struct Tree2Kind {
  std::uint64_t type = 0;  ///< Type of its records, a number of the specification.
  std::uint64_t record_bytes = 0;
};

/// Read the tree whose header is at `address` (as in the file) and give `take` every record, in order. All of it is
/// checked that libhdf5 1.10 relies on: sizes, levels, counts, and that no node is met twice.
/// \param most_records  More than these are an error, and so are more than the file has bytes for.
/// Errors: kCorruptData; those of reading and of `take`.
Status read_tree2(const RandomAccessFile& file, const Superblock& superblock, std::uint64_t address,
                  const Tree2Kind& kind, std::uint64_t most_records,
                  const std::function<Status(std::span<const std::byte>)>& take);

}  // namespace headrace::hdf5
