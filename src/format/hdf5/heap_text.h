// Variable-length text, read by ourselves: libhdf5 1.10 follows sizes and indexes of a damaged global heap out of its
// buffers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "format/hdf5/superblock.h"
#include "storage/random_access_file.h"

namespace headrace::hdf5 {

/// The first `length` bytes of object `index` in the global heap at `address` (specification III.E); nullopt if the
/// heap is damaged or has no such object.
std::optional<std::string> heap_text(const RandomAccessFile& file, const Superblock& superblock, std::uint64_t address,
                                     std::uint64_t index, std::uint64_t length);

}  // namespace headrace::hdf5
