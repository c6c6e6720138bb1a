// The suite that every format's reader passes: what format_reader.h promises, checked against an oracle.
//
//   const bool registered = (register_format_reader_tests("Npy", "BigEndian", make_case), true);   // at namespace
//   scope
//
// registers a test for each promise under "Npy/BigEndian": equality, partial reads, pieces that tile the rows, scratch,
// threads; and, where the array comes from the bytes of one file, damage of every byte, cuts at every length, failures
// of every read, and a file that changes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "format/format_reader.h"

namespace headrace::testing_format {

using OpenedArray = Result<std::shared_ptr<ArrayReader>>;

/// What the suite is told of one array.
struct FormatCase {
  /// Open the array anew.
  std::function<OpenedArray()> open;
  /// Dense values of all rows, for each column: made without the reader, or by another library's.
  std::vector<std::vector<std::byte>> columns;
  /// A piece is exactly the rows that are asked for.
  bool addressable = false;
  /// Whatever must live as long as the case: a folder with files.
  std::shared_ptr<void> holder = nullptr;

  // Only where the array comes from one file that is read through a RandomAccessFile.
  std::vector<std::byte> file_bytes = {};
  std::function<OpenedArray(std::shared_ptr<RandomAccessFile>)> open_file = nullptr;
  /// No byte of the file can be flipped so that other values come out: there are checksums over data and metadata.
  bool notices_damage = false;
  /// Every n-th byte is flipped; more than 1 for files that are mostly empty space.
  std::size_t flip_step = 1;
};

/// Register the tests. \param make  Called once by each test, while it runs.
void register_format_reader_tests(const std::string& format, const std::string& name, std::function<FormatCase()> make);

}  // namespace headrace::testing_format
