#include "tools/run_file_paths.h"

#include <filesystem>

namespace headrace {

std::string beside(const std::string& run_file, const std::string& path) {
  if (path.starts_with('/') || path.starts_with('~')) return path;
  const std::string directory = std::filesystem::path(run_file).parent_path().string();
  if (directory.empty()) return path;
  if (path.find_first_of("*?[") == std::string::npos) return directory + "/" + path;
  std::string literal;  // the directory's own name is no pattern
  for (const char c : directory)
    literal += c == '*' || c == '?' || c == '[' ? std::string{'[', c, ']'} : std::string{c};
  return literal + "/" + path;
}

}  // namespace headrace
