// A piece of a file's metadata with a signature and a checksum, read by ourselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/hdf5/structure/superblock.h"
#include "storage/random_access_file.h"

namespace headrace::hdf5 {

/// The largest block of metadata that is read at once. Writers make blocks of some KiB.
inline constexpr std::uint64_t kMetadataLimitBytes = 64 << 20;

/// Read `size` bytes at `address`, as in the file.
/// Errors: kCorruptData, if they are not there; kUnsupported, if they are more than kMetadataLimitBytes; those of
/// reading.
Result<std::vector<std::byte>> read_metadata(const RandomAccessFile& file, const Superblock& superblock,
                                             std::uint64_t address, std::uint64_t size);

/// Read a block that begins with `signature` (4 bytes; none if empty) and ends in the checksum of all before it.
/// \return The block without its checksum.
/// Errors: as read_metadata(); kCorruptData if signature or checksum do not fit.
Result<std::vector<std::byte>> read_signed(const RandomAccessFile& file, const Superblock& superblock,
                                           std::uint64_t address, std::uint64_t size, std::string_view signature);

/// Return the bytes that HDF5 takes for numbers up to `most` (H5VM_limit_enc_size()).
std::size_t bytes_for(std::uint64_t most);

}  // namespace headrace::hdf5
