// HDF5 as a FormatReader.
#pragma once

#include <memory>
#include <string>

#include "format/format_reader.h"

namespace headrace::hdf5 {

/// Return true if the file has an HDF5 signature (at 0, 512, 1024, …). Errors: of reading.
Result<bool> is_hdf5(const RandomAccessFile& file);

/// Open an HDF5 file and walk over it. All metadata and data come through `file`.
/// \param path  For messages, and the directory in which outside files may lie.
/// Errors: kCorruptData (truncated, damaged), kUnsupported (newer than libhdf5, being written), and those of reading.
Result<std::shared_ptr<FormatReader>> open_hdf5(std::shared_ptr<RandomAccessFile> file, const std::string& path);

/// Return the version of libhdf5, for example "1.10.8"; empty in a build without it.
std::string version_text();

}  // namespace headrace::hdf5
