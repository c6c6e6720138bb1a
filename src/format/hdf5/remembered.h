// What opening an HDF5 file learnt, as bytes, and the reader made of them without libhdf5 and without reading the file.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/packed.h"
#include "format/format_reader.h"
#include "format/hdf5/dataset_info.h"
#include "format/hdf5/file_state.h"

namespace headrace::hdf5 {

/// Which class reads an array that is remembered.
enum class RememberedKind : std::uint8_t { kChunked, kContiguous, kFill, kMemory };

/// Append the kind and the description of an array; its own parts follow.
void remember_array(RememberedKind kind, const DatasetInfo& info, PackedWriter& out);

/// Return the facts of a file (see FormatReader::facts()): all arrays, and of those that are `opened` and can be read
/// without libhdf5 how to read them. Empty for a file whose arrays lie in other files as well: those may change.
std::string facts_of(const FileState& state, const std::vector<ArrayInfo>& arrays,
                     const std::vector<LeftOut>& passed_over, const Attributes& attributes,
                     std::span<const std::shared_ptr<ArrayReader>> opened);

/// As headrace::open_remembered(). Arrays that are not remembered open the file as open_hdf5() does.
std::shared_ptr<FormatReader> open_remembered(std::shared_ptr<RandomAccessFile> file, const std::string& path,
                                              std::string_view facts);

}  // namespace headrace::hdf5
