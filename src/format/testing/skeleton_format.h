// A format to begin from: docs/guides/adding-a-format.md shows it, and its tests are those of a format of the house.
//
// One array of float32 in a file: the eight bytes "SKELETON", the number of rows and the number of values a row, each
// an unsigned integer of eight bytes, then row after row of values. All numbers are big-endian. (A real format says
// here which page describes it, and which versions of it are read.)
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "format/format_reader.h"

namespace headrace::skeleton {

/// True if bytes begin as a skeleton file does.
bool is_skeleton(std::span<const std::byte> head);

/// Open a skeleton file. Its one array is called "values".
/// Errors: kCorruptData  truncated, damaged; kUnsupported  rows of no values; those of reading.
Result<std::shared_ptr<FormatReader>> open_skeleton(std::shared_ptr<RandomAccessFile> file, const std::string& path);

}  // namespace headrace::skeleton
