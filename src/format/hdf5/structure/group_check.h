// Groups, checked before libhdf5 lists them.
#pragma once

#include <vector>

#include "base/result.h"
#include "format/hdf5/structure/object_header.h"

namespace headrace::hdf5 {

/// Refuse groups whose links libhdf5 1.10 cannot be trusted to list: every link is read here first.
/// Errors: kCorruptData; kUnsupported; those of reading.
Status check_group(const RandomAccessFile& file, const Superblock& superblock,
                   const std::vector<HeaderMessage>& messages);

/// Check the headers that libhdf5 reads while it opens a file: the root group's, and the superblock's extension.
/// Errors: as check_group().
Status check_root(const RandomAccessFile& file, const Superblock& superblock);

}  // namespace headrace::hdf5
