// The start of a .npy file: its version, the type and the shape of its array, and where its values begin.
//
// The format is numpy.lib.format's (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html): six bytes
// of magic, two of version, the header's length in two bytes (version 1) or four (2 and 3), and a Python dict as text
// with the keys descr, fortran_order and shape; in latin-1, or UTF-8 for version 3. The values follow at once.
#pragma once

#include <headrace/dtype.h>
#include "catalog/stored_column.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/npy/npy_type.h"

namespace headrace {

/// Return the header of an array in C order, version 1.0; its size is a multiple of 64, so that the values after it are
/// aligned in memory.
std::string npy_header(const DType& dtype, std::span<const std::uint64_t> shape);
/// Return the header of all rows of a field.
std::string npy_header(const StoredColumn& field, std::uint64_t rows);

namespace npy {

struct NpyHeader {
  int version = 1;
  NpyType type;
  std::vector<std::uint64_t> shape;  ///< Empty for a single number.
  std::uint64_t header_bytes = 0;    ///< The values begin here.
  std::uint64_t value_bytes = 0;     ///< Bytes of all values; checked against overflow.
};

/// Return true if bytes begin as a .npy file does.
bool is_npy(std::span<const std::byte> head);

/// Read bytes of a file, or of a member of an archive, from its start.
using ReadStart = std::function<Status(std::uint64_t offset, std::span<std::byte> out)>;

/// Read and check a header. A type that cannot be delivered is no error here (NpyType::refusal); neither is Fortran
/// order, which becomes a refusal unless the array is the same in C order.
/// Errors: kCorruptData  no header, or one that contradicts itself or needs more than `size_bytes`; kUnsupported
/// a later version of the format; those of `read`.
Result<NpyHeader> read_npy_header(const ReadStart& read, std::uint64_t size_bytes);

}  // namespace npy
}  // namespace headrace
