// A folder for one test, and files in it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace headrace {

/// Made in the system's folder for temporary files; removed with everything in it by the destructor.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  /// Return the folder's path, without a slash at its end.
  [[nodiscard]] std::string path() const { return folder_.string(); }
  [[nodiscard]] std::string path(std::string_view file_name) const;
  /// Write (or overwrite in place) a file; returns its path.
  std::string write(std::string_view file_name, std::span<const std::byte> bytes) const;
  std::string write_text(std::string_view file_name, std::string_view text) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace headrace
