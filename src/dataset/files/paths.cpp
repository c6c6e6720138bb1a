#include "dataset/files/paths.h"

#include <pwd.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/text/nearest_name.h"
#include "format/readable_directory.h"
#include "storage/file_system.h"

namespace headrace {
namespace {

constexpr std::size_t kMaxDepth = 256;        // of wildcards; also ends what loops of mounts could make endless
constexpr std::ptrdiff_t kTimesInItself = 4;  // that "*" goes around a circle of links; a pattern says how deep
constexpr std::size_t kPathsShown = 5;        // in a message

bool has_glob(std::string_view text) {
  return text.find_first_of("*?[") != std::string_view::npos;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Bytes of the UTF-8 character at the front; 1 for what is not UTF-8.
std::size_t character_bytes(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t n = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  return std::min(n, text.size());
}

/// End of the bracket expression that starts at `pattern[0] == '['`, or npos if it never closes (then it is a letter).
std::size_t bracket_end(std::string_view pattern) {
  std::size_t i = 1;
  if (i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^')) ++i;
  if (i < pattern.size() && pattern[i] == ']') ++i;  // a bracket first in the set is a member
  return pattern.find(']', i);
}

bool bracket_match(std::string_view set, std::string_view character) {
  const bool negated = !set.empty() && (set[0] == '!' || set[0] == '^');
  if (negated) set.remove_prefix(1);
  bool found = false;
  while (!set.empty() && !found) {
    const std::string_view low = set.substr(0, character_bytes(set));
    set.remove_prefix(low.size());
    if (set.size() > 1 && set[0] == '-') {
      set.remove_prefix(1);
      const std::string_view high = set.substr(0, character_bytes(set));
      set.remove_prefix(high.size());
      found = low <= character && character <= high;  // the bytes of UTF-8 sort as its code points do
    } else {
      found = low == character;
    }
  }
  return found != negated;
}

std::string join(const std::string& directory, const std::string& name) {
  if (directory.empty()) return name;
  return directory.back() == '/' ? directory + name : directory + "/" + name;
}

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    if (slash > 0) parts.emplace_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return parts;
}

bool is_directory(const std::string& path) {
  const auto status = FileSystem::of(path).status(path);
  return status.ok() && status->kind == PathKind::kDirectory;
}

Result<std::vector<std::string>> list(const std::string& directory) {
  return FileSystem::of(directory).list(directory);
}

/// Walks a pattern part by part and collects the files that match all of it. Takes each directory once for each part.
class Globber {
 public:
  explicit Globber(std::vector<std::string> parts) : parts_(std::move(parts)) {}

  Status walk(const std::string& at, std::size_t part) {
    if (part == parts_.size() || !walked_.emplace(at, part).second) return {};
    const std::string& pattern = parts_[part];
    const bool last = part + 1 == parts_.size();
    if (pattern == "**") return walk_any_depth(at, part);
    // A directory that has this very name is meant, as a file of such a name is: "[2023] run/part_*.h5".
    if (!has_glob(pattern) || (!last && is_directory(join(at, pattern)))) {
      const std::string path = join(at, pattern);
      HEADRACE_ASSIGN(const PathStatus status, FileSystem::of(path).status(path));
      return status.kind == PathKind::kNothing ? Status() : take(path, part, last);
    }
    const auto identity = enterable(at, starred_, kTimesInItself);
    if (!identity) return {};
    starred_.push_back(*identity);
    Status status = take_matches(at, part, last);
    starred_.pop_back();
    return status;
  }

  std::set<std::string> files;  // "**" may come by the same file twice
  std::size_t directories = 0;  // that matched the whole pattern

 private:
  Status take(const std::string& path, std::size_t part, bool last) {
    if (!last) return is_directory(path) ? walk(path, part + 1) : Status();
    if (is_directory(path) && !is_readable_directory(path)) {
      ++directories;
    } else {
      files.insert(path);
    }
    return {};
  }

  using Identity = std::pair<std::uint64_t, std::uint64_t>;  // device, inode

  /// Links to directories are followed, but around a circle only so many times. \return nullopt: not into this one.
  static std::optional<Identity> enterable(const std::string& at, const std::vector<Identity>& inside,
                                           std::ptrdiff_t most_times) {
    const auto facts = FileSystem::of(at).status(at);
    if (!facts.ok() || facts->kind != PathKind::kDirectory || inside.size() >= kMaxDepth) return std::nullopt;
    const Identity identity{facts->fingerprint.device, facts->fingerprint.inode};
    return std::ranges::count(inside, identity) < most_times ? std::optional(identity) : std::nullopt;
  }

  Status take_matches(const std::string& at, std::size_t part, bool last) {
    const std::string& pattern = parts_[part];
    HEADRACE_ASSIGN(const std::vector<std::string> names, list(at));
    for (const std::string& name : names)
      if ((name[0] != '.' || pattern[0] == '.') && glob_match(pattern, name))
        HEADRACE_TRY(take(join(at, name), part, last));
    return {};
  }

  /// "**": here, and in every directory below, but never in one inside itself.
  Status walk_any_depth(const std::string& at, std::size_t part) {
    const auto identity = enterable(at, below_, 1);
    if (!identity) return {};
    const bool last = part + 1 == parts_.size();
    if (!last) HEADRACE_TRY(walk(at, part + 1));
    below_.push_back(*identity);
    Status status = descend(at, part, last);
    below_.pop_back();
    return status;
  }

  Status descend(const std::string& at, std::size_t part, bool last) {
    HEADRACE_ASSIGN(const std::vector<std::string> names, list(at));
    for (const std::string& name : names) {
      if (name[0] == '.') continue;
      const std::string path = join(at, name);
      if (is_directory(path) && !is_readable_directory(path)) {
        HEADRACE_TRY(walk(path, part));
      } else if (last) {
        files.insert(path);
      }
    }
    return {};
  }

  std::vector<std::string> parts_;
  std::set<std::pair<std::string, std::size_t>> walked_;  // several "**" come by a directory in many ways
  std::vector<Identity> starred_, below_;                 // directories that "*" and "**" are matched in now
};

/// kNotFound that says what lies where the search ended.
Error not_found(const std::string& path, std::size_t directories) {
  const std::vector<std::string> parts = split(path);
  std::string at = path[0] == '/' ? "/" : "";
  std::size_t depth = 0;  // of the deepest directory on the way that exists
  while (depth + 1 < parts.size() && is_directory(join(at, parts[depth]))) at = join(at, parts[depth++]);
  const std::string where = at.empty() ? "the current directory" : at;
  const bool glob = has_glob(path);
  Error error(ErrorCode::kNotFound, glob ? "no file matches this pattern" : "no such file");
  error.with_file(path);
  if (directories > 0)
    return error.with_hint(
        fmt::format("It matches {} director{}, which are not read: name the files inside, for example {}/*.h5.",
                    directories, directories == 1 ? "y" : "ies", path));
  if (depth + 1 < parts.size() && !has_glob(parts[depth]))
    error = Error(ErrorCode::kNotFound, fmt::format("there is no directory '{}' in {}", parts[depth], where))
                .with_file(path);
  Result<std::vector<std::string>> listed = list(at);
  if (!listed.ok()) return listed.error();
  std::vector<std::string> names = std::move(*listed);
  if (names.empty()) return error.with_hint(fmt::format("{} is empty.", where));
  const std::string& wanted = parts.empty() ? path : parts[std::min(depth, parts.size() - 1)];
  std::sort(names.begin(), names.end(), natural_less);
  names = nearest_names(wanted, names);
  std::string shown;
  for (std::size_t i = 0; i < std::min(names.size(), kPathsShown); ++i)
    shown += fmt::format("{}{}{}", i == 0 ? "" : ", ", names[i], is_directory(join(at, names[i])) ? "/" : "");
  if (names.size() > kPathsShown) shown += fmt::format(" and {} more", names.size() - kPathsShown);
  return error.with_hint(fmt::format("In {}: {}.", where, shown));
}

/// kInvalidArgument that says what to name instead.
Error is_a_directory(const std::string& path) {
  Error error(ErrorCode::kInvalidArgument, "this is a directory, files or Zarr stores are expected");
  error.with_file(path);
  if (const std::string known = unread_directory(path); !known.empty())
    return Error(ErrorCode::kUnsupported, fmt::format("this is {}, which is not read", known))
        .with_file(path)
        .with_hint("Convert it to Zarr.");
  const auto names = FileSystem::of(path).list(path);
  for (std::size_t i = 0; names.ok() && i < names->size(); ++i)
    if (const std::string inside = join(path, (*names)[i]); is_directory(inside) && is_readable_directory(inside))
      return error.with_hint(fmt::format("Name what lies inside: {}.", inside));
  return error.with_hint(fmt::format("Name the files inside: {} or {}.", join(path, "*.h5"), join(path, "**/*.h5")));
}

Status expand_one(const std::string& written, std::vector<std::string>& out) {
  if (written.empty()) return Error(ErrorCode::kInvalidArgument, "an empty path was given");
  const std::string path = expand_home(written);
  HEADRACE_ASSIGN(const PathStatus status, FileSystem::of(path).status(path));
  if (status.kind == PathKind::kFile || status.kind == PathKind::kDirectory ||
      (status.kind == PathKind::kOther && !has_glob(path))) {
    if (status.kind == PathKind::kDirectory && !is_readable_directory(path)) return is_a_directory(path);
    out.push_back(path);
    return {};
  }
  if (!has_glob(path)) return not_found(path, 0);
  Globber globber(split(path));
  HEADRACE_TRY(globber.walk(path[0] == '/' ? "/" : "", 0));
  if (globber.files.empty()) return not_found(path, globber.directories);
  std::vector<std::string> found(globber.files.begin(), globber.files.end());
  std::sort(found.begin(), found.end(), natural_less);
  out.insert(out.end(), found.begin(), found.end());
  return {};
}

}  // namespace

std::vector<std::string> absolute_paths(const std::vector<std::string>& paths) {
  std::vector<std::string> absolute;
  for (const std::string& path : paths) absolute.push_back(std::filesystem::absolute(path).string());
  return absolute;
}

std::string expand_home(const std::string& path) {
  if (!path.starts_with('~')) return path;
  const std::size_t slash = std::min(path.find('/'), path.size());
  const std::string user = path.substr(1, slash - 1);
  const char* home = user.empty() ? std::getenv("HOME") : nullptr;
  if (home == nullptr || *home == '\0') {
    const passwd* entry = user.empty() ? ::getpwuid(::getuid()) : ::getpwnam(user.c_str());
    home = entry == nullptr ? nullptr : entry->pw_dir;
  }
  if (home == nullptr) return path;  // as a shell does: then it is a name that starts with "~"
  return home + path.substr(slash);
}

bool glob_match(std::string_view pattern, std::string_view name) {
  // Only the last star needs to be taken up again: an earlier one can never do better by taking more.
  std::string_view star_pattern, star_name;
  bool star = false;
  while (!name.empty() || !pattern.empty()) {
    if (!pattern.empty() && pattern[0] == '*') {
      pattern.remove_prefix(1);
      star = true, star_pattern = pattern, star_name = name;
      continue;
    }
    if (!pattern.empty() && !name.empty()) {
      const std::string_view character = name.substr(0, character_bytes(name));
      const std::size_t close = pattern[0] == '[' ? bracket_end(pattern) : std::string_view::npos;
      if (close != std::string_view::npos) {
        if (bracket_match(pattern.substr(1, close - 1), character)) {
          pattern.remove_prefix(close + 1), name.remove_prefix(character.size());
          continue;
        }
      } else if (pattern[0] == '?') {
        pattern.remove_prefix(1), name.remove_prefix(character.size());
        continue;
      } else if (pattern[0] == name[0]) {
        pattern.remove_prefix(1), name.remove_prefix(1);
        continue;
      }
    }
    if (!star || star_name.empty()) return false;
    star_name.remove_prefix(character_bytes(star_name));
    pattern = star_pattern, name = star_name;
  }
  return true;
}

bool natural_less(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a, whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (is_digit(a[0]) && is_digit(b[0])) {
      const auto number = [](std::string_view& text) {
        std::size_t n = 0;
        while (n < text.size() && is_digit(text[n])) ++n;
        std::string_view digits = text.substr(0, n);
        text.remove_prefix(n);
        digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
        return digits;
      };
      const std::string_view x = number(a), y = number(b);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      continue;
    }
    const auto rank = [](char c) { return c == '/' ? 0 : static_cast<int>(static_cast<unsigned char>(c)) + 1; };
    if (a[0] != b[0]) return rank(a[0]) < rank(b[0]);
    a.remove_prefix(1), b.remove_prefix(1);
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;  // equal but for leading zeros: any fixed order
}

Result<std::vector<std::string>> expand_paths(const std::vector<std::string>& paths) {
  if (paths.empty()) return Error(ErrorCode::kInvalidArgument, "no files were given");
  std::vector<std::string> files;
  std::unordered_map<std::string, std::string> seen;  // one spelling of each file → the argument that meant it
  for (const std::string& path : paths) {
    const std::size_t before = files.size();
    HEADRACE_TRY(expand_one(path, files));
    for (std::size_t i = before; i < files.size(); ++i) {
      const std::string key = FileSystem::of(files[i]).absolute(files[i]);
      const auto [place, fresh] = seen.emplace(key, path);
      if (!fresh)
        return Error(ErrorCode::kInvalidArgument,
                     place->second == path
                         ? fmt::format("this file is given twice, by '{}'", path)
                         : fmt::format("this file is given twice, by '{}' and by '{}'", place->second, path))
            .with_file(files[i])
            .with_hint("Every sample is delivered once an epoch: name each file once.");
    }
  }
  return files;
}

}  // namespace headrace
