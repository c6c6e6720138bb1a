// A read-only file driver for libhdf5 that reads through our own RandomAccessFile, and that can record instead of read.
//
// Recording: while it is on, a raw-data read only notes (address, size) and leaves the buffer alone; metadata is
// read as always. One H5Dread_chunk then says where libhdf5 would read a chunk, to compare with our own index, at the
// cost of one index descent, where H5Dget_chunk_info of HDF5 1.10 walks the whole index on every call. The library adds
// the user block before it calls a driver, so addresses are absolute (its own queries leave it out before 1.14.4).
//
// The driver locks nothing (no `lock` callback), never shares a handle (no `cmp`), and opens no second file.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "format/hdf5/library_lock.h"
#include "storage/random_access_file.h"

namespace headrace::hdf5 {

/// What the driver knows of one file we opened. Held by the driver, too: libhdf5 may keep a damaged file open after it
/// was closed. Threads: only under a LibraryLock.
struct DriverState : std::enable_shared_from_this<DriverState> {
  std::shared_ptr<RandomAccessFile> file;
  bool opening = false;             ///< H5Fopen of `file` itself is running.
  std::optional<Error> read_error;  ///< The first read that failed: the true cause of what libhdf5 then reports.

  struct Recording {
    bool on = false;
    unsigned reads = 0;
    std::uint64_t address = 0, size = 0;  ///< Range of the last raw-data read.
  } recording;
};

/// Return a file access property list that opens through the driver. `state` is held by a shared pointer.
Id driver_access_list(const LibraryLock&, DriverState& state);

/// Return the canonical path of `name` if it is a regular file inside `directory` (also canonical); relative names
/// start there. Errors: kNotFound; kUnsupported if it lies elsewhere, which a file from someone else could abuse to
/// read any file.
Result<std::string> path_inside(const std::string& directory, const std::string& name);

}  // namespace headrace::hdf5
