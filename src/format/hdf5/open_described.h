// From a file to its state, and from a described dataset to the reader that fits it.
#pragma once

#include <memory>
#include <string>

#include "format/hdf5/arrays/array_base.h"

namespace headrace::hdf5 {

/// Check a file's superblock; libhdf5 is not asked yet. Errors: as open_hdf5().
Result<std::shared_ptr<FileState>> open_state(std::shared_ptr<RandomAccessFile> file, const std::string& path);

/// Open a dataset that has been described and can be read.
/// Errors: kCorruptData; of opening external files.
Result<std::shared_ptr<ArrayBase>> open_described(const LibraryLock&, std::shared_ptr<FileState> state,
                                                  DatasetInfo info, Id dataset);

}  // namespace headrace::hdf5
