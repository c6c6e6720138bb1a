// Which libraries read files, and their versions.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace headrace {

/// Return name and version of every library that the formats of this build use.
std::vector<std::pair<std::string, std::string>> format_library_versions();

}  // namespace headrace
