// Data that a file says lies elsewhere: external raw files and the sources of virtual datasets.
//
// libhdf5 answers a missing or short outside file with fill values, and follows any path: both are refused here.
// Outside files must lie in the directory of the file (or below), exist, and be large enough.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/hdf5/recording_driver.h"
#include "storage/fingerprint.h"

namespace headrace::hdf5 {

/// A run of an array's bytes in an external raw file.
struct RawSegment {
  std::string path;  ///< Canonical.
  std::uint64_t offset_bytes = 0, size_bytes = 0;
};

/// The external raw files of a dataset that needs `needed_bytes`, in order, checked.
/// Errors: kNotFound, kUnsupported (outside the directory), kCorruptData (too short).
Result<std::vector<RawSegment>> external_segments(const LibraryLock&, hid_t creation_list, const std::string& directory,
                                                  std::uint64_t needed_bytes);

/// A source file of a virtual dataset as it was when checked.
struct OutsideFile {
  std::string path;  ///< Canonical.
  FileFingerprint fingerprint;
};

/// Check that every source of a virtual dataset is there and covers what is mapped from it.
/// Errors: kNotFound, kUnsupported (outside the directory, growing or patterned mappings, virtual sources of virtual
/// datasets, unknown filters), kCorruptData.
Result<std::vector<OutsideFile>> virtual_sources(const LibraryLock&, hid_t file, hid_t creation_list,
                                                 DriverState& state);

/// Errors: kFileChanged if a source is gone or not what it was.
Status check_sources(const std::vector<OutsideFile>& sources);

}  // namespace headrace::hdf5
