#include "cache/directory/npy_file_names.h"

#include <fmt/format.h>

#include <set>

namespace headrace {
namespace {

constexpr std::size_t kMostNameBytes = 80;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

std::string lower(std::string text) {  // some file systems do not tell A from a
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

}  // namespace

std::vector<std::string> npy_file_names(const std::vector<StoredColumn>& fields) {
  std::set<std::string> taken{"crc32c", "blocks"};
  std::vector<std::string> names;
  for (const StoredColumn& field : fields) {
    std::string stem = field.name.substr(0, kMostNameBytes);
    for (char& c : stem)
      if (!is_plain(c)) c = '_';
    if (stem.empty()) stem = "field";
    std::string name = stem;
    for (int n = 2; !taken.insert(lower(name)).second; ++n) name = fmt::format("{}-{}", stem, n);
    names.push_back(name + ".npy");
  }
  return names;
}

}  // namespace headrace
