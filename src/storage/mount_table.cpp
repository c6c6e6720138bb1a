#include "storage/mount_table.h"

#include <fstream>
#include <sstream>
#include <vector>

namespace headrace {
namespace {

/// Spaces, tabs, line ends and backslashes are written as \040 and the like.
std::string unescape(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '7'; };
    if (text[i] == '\\' && digit(i + 1) && digit(i + 2) && digit(i + 3)) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool lies_on(const std::string& path, const std::string& point) {
  return point == "/" || path == point ||
         (path.size() > point.size() && path.starts_with(point) && path[point.size()] == '/');
}

}  // namespace

std::string MountEntry::option(std::string_view name_and_equals) const {
  std::istringstream stream(options);
  for (std::string part; std::getline(stream, part, ',');)
    if (part.starts_with(name_and_equals)) return part.substr(name_and_equals.size());
  return {};
}

MountEntry mount_of(const std::string& path, const std::string& root) {
  MountEntry best;
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> words;  // id parent major:minor root point options tags… - type source super-options
    std::istringstream stream(line);
    for (std::string word; stream >> word;) words.push_back(std::move(word));
    std::size_t dash = 5;
    while (dash < words.size() && words[dash] != "-") ++dash;
    if (dash + 2 >= words.size()) continue;
    std::string point = unescape(words[4]);
    if (!lies_on(path, point) || point.size() < best.point.size()) continue;  // of equals the last one covers the rest
    best = {std::move(point), words[dash + 1], unescape(words[dash + 2]),
            dash + 3 < words.size() ? unescape(words[dash + 3]) : ""};
  }
  return best;
}

}  // namespace headrace
