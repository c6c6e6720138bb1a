// The bounds check that every RandomAccessFile makes before it reads.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace headrace {

/// Return kCorruptData unless [offset, offset + size_bytes) lies inside a file of `file_bytes` bytes. Safe against
/// overflow.
Status check_range(std::string_view file_name, std::uint64_t file_bytes, std::uint64_t offset,
                   std::uint64_t size_bytes);

}  // namespace headrace
