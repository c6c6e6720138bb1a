#include "written_file.h"

#include <fmt/format.h>
#include <headrace/error.h>

#include <fstream>

namespace headrace::cli {

void write_file(const std::string& path, std::string_view bytes, std::string_view what) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  file.close();
  if (!file)
    throw Error(ErrorCode::kWriteFailed, fmt::format("{} could not be written", what))
        .with_file(path)
        .with_hint("Name a file in a directory that exists and may be written.");
}

}  // namespace headrace::cli
