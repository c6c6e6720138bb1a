#include "storage/whole_file.h"

#include <fmt/format.h>
#include <headrace/bytes.h>

#include <span>

#include "storage/file_system.h"

namespace headrace {

Result<std::string> read_whole_file(const std::string& path, std::uint64_t most_bytes) {
  HEADRACE_ASSIGN(const auto file, FileSystem::of(path).open(path));
  if (file->size() > most_bytes)
    return Error(ErrorCode::kInvalidArgument, fmt::format("its {} are too many for such a file: at most {}",
                                                          format_bytes(file->size()), format_bytes(most_bytes)))
        .with_file(path)
        .with_stage("open");
  std::string text(static_cast<std::size_t>(file->size()), '\0');
  HEADRACE_TRY(file->read_at(0, std::as_writable_bytes(std::span(text))));
  return text;
}

}  // namespace headrace
