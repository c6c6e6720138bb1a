// FileRange: bytes of one of several files, the unit in which readers ask for what they decode.
#pragma once

#include "base/result.h"
#include "storage/random_access_file.h"

namespace headrace {

/// Bytes of `file`. Whoever hands it out keeps the file open for as long as the range is used.
struct FileRange {
  const RandomAccessFile* file = nullptr;  ///< May be null where range.size is 0: there is nothing to read.
  ByteRange range;
  friend bool operator==(const FileRange&, const FileRange&) = default;
};

}  // namespace headrace
