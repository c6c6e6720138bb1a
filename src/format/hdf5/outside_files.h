// Data that a file says lies elsewhere, in external raw files. (Sources of virtual datasets: virtual_layout.h.)
//
// libhdf5 answers a missing or short outside file with fill values, and follows any path: both are refused here.
// Outside files must lie in the directory of the file (or below), exist, and be large enough.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/format_reader.h"
#include "format/hdf5/recording_driver.h"

namespace headrace::hdf5 {

/// A run of an array's bytes in an external raw file.
struct RawSegment {
  std::string path;  ///< Canonical.
  std::uint64_t offset_bytes = 0, size_bytes = 0;
};

/// Return the external raw files of a dataset that needs `needed_bytes`, in order, checked.
/// Errors: kNotFound, kUnsupported (outside the directory), kCorruptData (too short).
Result<std::vector<RawSegment>> external_segments(const LibraryLock&, hid_t creation_list, const std::string& directory,
                                                  std::uint64_t needed_bytes);

}  // namespace headrace::hdf5
