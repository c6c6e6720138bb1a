// Where the control groups of this process are, in cgroup v1, v2 and mixed systems, inside and outside containers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

struct CgroupDirectory {
  std::string path;
  int version = 2;
};

/// Return the directories of the process's own group and all its ancestors, innermost first, for `controller`
/// ("memory", "cpu"): the v2 hierarchy and the v1 hierarchy that carries the controller, as /proc/self/cgroup and
/// /proc/self/mountinfo tell (man 7 cgroups). A container often sees its own group as the root of the mount; then
/// ancestors outside are not visible and not returned. `root` is put before /proc and /sys paths, for tests.
std::vector<CgroupDirectory> cgroup_directories(std::string_view controller, const std::string& root = "");

/// Return first line of a small file; nullopt if it cannot be read.
std::optional<std::string> read_first_line(const std::string& path);
/// Return the number in the first line of a file; nullopt for "max", other text, and files that cannot be read.
std::optional<std::uint64_t> read_number(const std::string& path);
/// A small file of lines "key number" or "key: number kB", read once.
class KeyedNumbers {
 public:
  explicit KeyedNumbers(const std::string& path);
  /// Return a number, in bytes where the file says kB; nullopt if there is no such line.
  [[nodiscard]] std::optional<std::uint64_t> get(std::string_view key) const;

 private:
  std::string text_;
};
/// Read one of them.
std::optional<std::uint64_t> read_keyed_number(const std::string& path, std::string_view key);

}  // namespace headrace
