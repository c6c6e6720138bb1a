// FileRange: bytes of one of several files, the unit in which readers ask for what they decode.
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "base/result.h"
#include "storage/random_access_file.h"

namespace headrace {

/// Bytes of `file`. Code that hands out ranges of a file which it keeps itself, for as long as they are used, gives no
/// owner, so that copying ranges counts no references; ranges of one of very many files own it.
struct FileRange {
  const RandomAccessFile* file = nullptr;  ///< May be null where range.size is 0: there is nothing to read.
  ByteRange range = {};
  std::shared_ptr<const RandomAccessFile> owner = nullptr;  ///< Keeps `file`; null: another does.

  FileRange() = default;
  FileRange(const RandomAccessFile* of, ByteRange bytes) : file(of), range(bytes) {}
  /// Name bytes of a file that lives as long as ranges of it do.
  FileRange(std::shared_ptr<const RandomAccessFile> of, ByteRange bytes)
      : file(of.get()), range(bytes), owner(std::move(of)) {}
  /// True for the same bytes of the same file.
  friend bool operator==(const FileRange& a, const FileRange& b) {
    const bool same_file =
        a.file == b.file || (a.file != nullptr && b.file != nullptr && a.file->name() == b.file->name());
    return same_file && a.range == b.range;
  }
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
