// One array of .npy values: in a file of its own, or a member of an archive.
#pragma once

#include <memory>
#include <string>

#include "format/format_reader.h"
#include "format/npy/npy_header.h"

namespace headrace::npy {

/// Where the values of an array lie.
struct NpyValues {
  std::shared_ptr<const RandomAccessFile> file;
  std::string file_name;  ///< For messages.
  ByteRange stored;       ///< The values; of a deflated member its whole stream, header included.
  bool deflated = false;  ///< Decoded at once, and compared with crc32.
  std::uint32_t crc32 = 0;
  bool is_beside = false;  ///< In a file beside the one that was opened.
};

/// Return what a header says, as the catalog has it. \param path  Name of the array.
ArrayInfo describe(const std::string& path, const NpyHeader& header, const NpyValues& values);

/// Open an array for reading. The caller has checked that the values lie in the file, and that they can be delivered.
std::shared_ptr<ArrayReader> open_npy_array(ArrayInfo info, NpyHeader header, NpyValues values);

}  // namespace headrace::npy
