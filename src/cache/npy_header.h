// The start of a .npy file, version 1.0 (numpy.lib.format): how an array lies in the bytes after it.
#pragma once

#include <headrace/catalog/dtype.h>
#include <headrace/catalog/field.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cache/row_store.h"

namespace headrace {

/// Header of an array in C order; its size is a multiple of 64, so that the data is aligned in memory. A reader
/// compares a file's header with this text, byte for byte: nothing in a file is ever interpreted.
std::string npy_header(const DType& dtype, std::span<const std::uint64_t> shape);
/// Header of all rows of a field.
std::string npy_header(const Field& field, std::uint64_t rows);

/// A plain file name for every field, in order: letters, digits, '_' and '-' of its name, made unique; "image.npy".
std::vector<std::string> npy_file_names(const std::vector<Field>& fields);

}  // namespace headrace
