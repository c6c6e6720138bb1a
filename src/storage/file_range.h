// FileRange: bytes of one of several files, the unit in which readers ask for what they decode.
#pragma once

#include <span>

#include "base/result.h"
#include "storage/random_access_file.h"

namespace headrace {

/// Bytes of `file`. The code that hands it out keeps the file open for as long as the range is used.
struct FileRange {
  const RandomAccessFile* file = nullptr;  ///< May be null where range.size is 0: there is nothing to read.
  ByteRange range;
  friend bool operator==(const FileRange&, const FileRange&) = default;
};

/// Read `ranges` one after the other into `buffer`, then ask their files whether they changed: bytes of a file that
/// changed since it was indexed may decode to anything.
/// Errors: those of read_range() and check_files_unchanged(); kInvalidArgument  the buffer is smaller than the ranges.
/// Blocks: until the bytes are there.
Status read_ranges(std::span<const FileRange> ranges, std::span<std::byte> buffer);

/// Read one range into `out`, of its size. Errors: those of read_at(), with the file's name.
Status read_range(const FileRange& range, std::span<std::byte> out);

/// Ask each file whether it changed, once for ranges of it that follow each other.
/// Errors: those of check_unchanged(), with the file's name.
Status check_files_unchanged(std::span<const FileRange> ranges);

}  // namespace headrace
