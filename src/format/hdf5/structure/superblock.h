// The first bytes of an HDF5 file, read by ourselves: is it HDF5 at all, and is all of it there?
//
// HDF5 File Format Specification, "Disk Format: Level 0A - Format Signature and Superblock". libhdf5 says of a cut file
// only "truncated file"; here we know by how much before it is asked.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "storage/random_access_file.h"

namespace headrace::hdf5 {

struct Superblock {
  std::uint64_t at = 0;         ///< Bytes before the signature: the user block. Addresses in the file count from here.
  unsigned version = 0;         ///< 0 and 1: up to HDF5 1.6; 2: 1.8; 3: 1.10 and later.
  bool understood = false;      ///< Version 0 to 3 with readable sizes; else the rest is not filled in.
  bool being_written = false;   ///< Version 3: a writer has not closed the file (or crashed).
  std::uint64_t end_bytes = 0;  ///< File size the superblock expects.
  std::uint64_t root_address = 0;       ///< Address of the root group's header, as in the file.
  std::uint64_t extension_address = 0;  ///< Address of the extension's header (version 2, 3); undefined where none is.
  unsigned address_bytes = 8, length_bytes = 8;  ///< Width of addresses and of lengths in the file.
  /// Return the address that means "nowhere": all bits set.
  [[nodiscard]] std::uint64_t undefined_address() const { return ~std::uint64_t{0} >> (64 - 8 * address_bytes); }
};

/// Find and read the superblock: at 0, 512, 1024, 2048, … \return nullopt if there is no signature.
/// Errors: of the read.
Result<std::optional<Superblock>> read_superblock(const RandomAccessFile& file);

}  // namespace headrace::hdf5
