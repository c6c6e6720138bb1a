#include "base/testing/temporary_folder.h"

#include <cstdlib>
#include <fstream>
#include <system_error>

namespace headrace {

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "headrace-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) std::abort();  // a test cannot go on
  folder_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string TemporaryFolder::path(std::string_view file_name) const {
  return (folder_ / file_name).string();
}

std::string TemporaryFolder::write(std::string_view file_name, std::span<const std::byte> bytes) const {
  return write_text(file_name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string TemporaryFolder::write_text(std::string_view file_name, std::string_view text) const {
  const std::string full = path(file_name);
  std::filesystem::create_directories(std::filesystem::path(full).parent_path());
  std::ofstream out(full, std::ios::binary | std::ios::trunc);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (!out) std::abort();
  return full;
}

}  // namespace headrace
