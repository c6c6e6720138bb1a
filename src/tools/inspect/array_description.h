// What the layout of one array means for its reader: the numbers, and in words what will be fast and what will not.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "catalog/array_info.h"

namespace headrace {

/// Numbers that follow from an ArrayInfo. Products of a file's own numbers saturate at 2^64-1.
struct ArrayDescription {
  std::uint64_t row_bytes = 0;         ///< Decoded bytes of one row, all columns.
  std::uint64_t decoded_bytes = 0;     ///< Decoded bytes of the whole array.
  std::uint64_t chunk_bytes = 0;       ///< Decoded bytes of one chunk; 0 where there are no chunks.
  std::uint64_t chunks = 0;            ///< In the array's grid; 0 where there are no chunks.
  std::uint64_t chunks_across = 1;     ///< Chunks that one row is spread over.
  std::uint64_t random_row_bytes = 0;  ///< Decoded to get one row.
  double ratio = 0;                    ///< Decoded bytes / stored bytes; 0 where nothing is stored.

  std::string type;     ///< "float32", "record of 4".
  std::string chunk;    ///< "128 rows, 1.00 MiB", "contiguous".
  std::string read_by;  ///< "native", "native, converted by libhdf5", "libhdf5, 1 thread", "refused".

  std::vector<std::string> care;  ///< What to know before reading it, one sentence each; the largest cost first.
};
ArrayDescription describe_array(const ArrayInfo& array);

/// What all arrays of a file mean together.
struct FileDescription {
  std::vector<std::string> fast, care, refused;
};
/// \param remedies  What to do about arrays that cannot be read, by their paths.
FileDescription describe_arrays(const std::vector<ArrayInfo>& arrays,
                                const std::map<std::string, std::string>& remedies = {});

/// Return "(16384, 128, 16)", as NumPy writes it.
std::string shape_text(const std::vector<std::uint64_t>& shape);
/// Return "contiguous", "chunked" and so on.
std::string layout_name(Layout layout);
}  // namespace headrace
