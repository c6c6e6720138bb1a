// What the kernel says of a thread of this process.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace headrace::faults {

/// Return a field of `task`/stat by its number in proc_pid_stat(5): 3 is the state, 9 the flags. Empty if the thread is
/// gone. \param field  From 3 on: before it stands the thread's name, in brackets and with whatever in it.
inline std::string stat_field(const std::filesystem::path& task, int field) {
  std::string stat;
  std::getline(std::ifstream(task / "stat"), stat);
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(stat.substr(name_end + 1));
  std::string text;
  for (int i = 3; i <= field; ++i) fields >> text;
  return text;
}

}  // namespace headrace::faults
