// Settings as the text of a run file: what load_run() reads.
#pragma once

#include <headrace/tools/tools.h>

#include <string>

namespace headrace {

/// Return a run file that means the same wherever it is written: relative paths become absolute. Every option that has
/// another value than its default is in it.
std::string run_file_text(const RunConfig& run);

}  // namespace headrace
