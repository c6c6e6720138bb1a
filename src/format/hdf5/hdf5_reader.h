// HDF5 as a FormatReader.
#pragma once

#include <memory>

#include "format/format_reader.h"

namespace headrace::hdf5 {

/// True if the file has an HDF5 signature (at 0, 512, 1024, …). Errors: of reading.
Result<bool> is_hdf5(const RandomAccessFile& file);

/// Open an HDF5 file and walk over it. All metadata and data come through `file`.
/// \param path  For messages, and the directory in which outside files may lie.
/// Errors: kCorruptData (truncated, damaged), kUnsupported (newer than libhdf5, being written), and those of reading.
Result<std::shared_ptr<FormatReader>> open_hdf5(std::shared_ptr<RandomAccessFile> file, const std::string& path);

}  // namespace headrace::hdf5
