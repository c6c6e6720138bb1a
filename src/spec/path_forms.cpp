#include "spec/path_forms.h"

#include <filesystem>

namespace headrace {

std::string beside(const std::string& file, const std::string& path) {
  if (path.starts_with('/') || path.starts_with('~')) return path;
  const std::string folder = std::filesystem::path(file).parent_path().string();
  if (folder.empty()) return path;
  if (path.find_first_of("*?[") == std::string::npos) return folder + "/" + path;
  std::string literal;
  for (const char c : folder) literal += c == '*' || c == '?' || c == '[' ? std::string{'[', c, ']'} : std::string{c};
  return literal + "/" + path;
}

std::string absolute_path(const std::string& path) {
  if (path.starts_with('/') || path.starts_with('~')) return path;
  std::error_code failed;
  const std::filesystem::path here = std::filesystem::current_path(failed);
  return failed ? path : (here / path).string();
}

Status ValueCodec<std::string, AsPath>::read(const Value& value, const At& at, const Bounds& bounds, std::string& to) {
  const std::string* const text = value.text();
  if (!text || text->empty()) return unexpected(value, at, words(bounds));
  to = beside(at.read_context().run_file, *text);
  return {};
}

}  // namespace headrace
