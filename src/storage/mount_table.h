// What is mounted where: /proc/self/mountinfo (man 5 proc).
#pragma once

#include <string>
#include <string_view>

namespace headrace {

struct MountEntry {
  std::string point, type, source, options;  ///< The super block's options.
  /// Return the value of "name=" in the options; empty if it is not there.
  [[nodiscard]] std::string option(std::string_view name_and_equals) const;
};

/// Return the mount that `path` (absolute, without links) lies on; empty if unknown. \param root  Put before /proc.
MountEntry mount_of(const std::string& path, const std::string& root = "");

}  // namespace headrace
