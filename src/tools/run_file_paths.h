// Paths in a run file.
#pragma once

#include <string>

namespace headrace {

/// Return a path of a run file so that it means the same wherever the program was started: it starts at the run file.
std::string beside(const std::string& run_file, const std::string& path);

}  // namespace headrace
