#include "storage/range_check.h"

#include <fmt/format.h>

namespace headrace {

Status check_range(std::string_view file_name, std::uint64_t file_bytes, std::uint64_t offset,
                   std::uint64_t size_bytes) {
  if (offset <= file_bytes && size_bytes <= file_bytes - offset) return {};
  return Error(ErrorCode::kCorruptData,
               fmt::format("{} bytes expected at offset {}, but the file has {} bytes", size_bytes, offset, file_bytes))
      .with_file(file_name)
      .with_bytes({offset, size_bytes})
      .with_stage("read")
      .with_hint("The file is truncated, or an offset stored in it is damaged.");
}

}  // namespace headrace
