#include "base/machine/cgroup.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace headrace {
namespace {

std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(line);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

bool lists(const std::string& comma_separated, std::string_view word) {
  for (const std::string& part : split(comma_separated, ','))
    if (part == word) return true;
  return false;
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

struct Mount {
  std::string root, point;  // what part of the hierarchy is mounted, and where
  int version;
};

/// man 5 proc, mountinfo: id parent major:minor root mount-point options tags… - type source super-options
std::vector<Mount> cgroup_mounts(std::string_view controller, const std::string& root) {
  std::vector<Mount> mounts;
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = split(line, ' ');
    std::size_t dash = 0;
    while (dash < words.size() && words[dash] != "-") ++dash;
    if (words.size() < 5 || dash + 3 >= words.size()) continue;
    const std::string& type = words[dash + 1];
    if (type == "cgroup2") mounts.push_back({words[3], words[4], 2});
    if (type == "cgroup" && lists(words[dash + 3], controller)) mounts.push_back({words[3], words[4], 1});
  }
  return mounts;
}

/// `path` relative to `top`; `path` itself if it does not lie below: a namespace shows paths from its own root.
std::string below(const std::string& path, const std::string& top) {
  if (top == "/") return path;
  if (path == top) return "/";
  if (path.size() > top.size() && path.compare(0, top.size(), top) == 0 && path[top.size()] == '/')
    return path.substr(top.size());
  return path;
}

}  // namespace

std::vector<CgroupDirectory> cgroup_directories(std::string_view controller, const std::string& root) {
  std::vector<CgroupDirectory> directories;
  const std::vector<Mount> mounts = cgroup_mounts(controller, root);
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // hierarchy:controllers:path
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool v2 = line.substr(0, first) == "0" && controllers.empty();
    if (!v2 && !lists(controllers, controller)) continue;
    for (const Mount& mount : mounts) {
      if (mount.version != (v2 ? 2 : 1)) continue;
      std::string path = below(line.substr(second + 1), mount.root);
      for (;;) {
        while (!path.empty() && path.back() == '/') path.pop_back();
        std::string directory = root + mount.point + path;
        std::error_code ec;
        if (path.find("..") == std::string::npos && std::filesystem::is_directory(directory, ec))
          directories.push_back({std::move(directory), mount.version});
        const std::size_t slash = path.rfind('/');
        if (slash == std::string::npos) break;
        path.resize(slash);
      }
      break;  // one mount of a hierarchy shows all of it
    }
  }
  return directories;
}

std::optional<std::string> read_first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::optional<std::uint64_t> read_number(const std::string& path) {
  const auto line = read_first_line(path);
  return line ? parse_number(*line) : std::nullopt;
}

KeyedNumbers::KeyedNumbers(const std::string& path) {
  std::ifstream file(path);
  text_.assign(std::istreambuf_iterator<char>(file), {});
}

std::optional<std::uint64_t> KeyedNumbers::get(std::string_view key) const {
  for (std::string_view rest = text_; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (!line.starts_with(key)) continue;
    std::size_t at = key.size();
    if (at < line.size() && line[at] == ':') ++at;
    if (at >= line.size() || (line[at] != ' ' && line[at] != '\t')) continue;
    at = line.find_first_not_of(" \t", at);
    if (at == std::string_view::npos) return std::nullopt;
    const auto value = parse_number(line.substr(at));
    if (!value) return std::nullopt;
    return line.find(" kB", at) != std::string_view::npos ? *value * 1024 : *value;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> read_keyed_number(const std::string& path, std::string_view key) {
  return KeyedNumbers(path).get(key);
}

}  // namespace headrace
