// Settings as the text of a run file: what load_run() reads.
#pragma once

#include <headrace/tools/tools.h>

#include <set>
#include <string>

namespace headrace {

/// Return a run file that means the same wherever it is written: relative paths become absolute. Every option that has
/// another value than its default is in it.
std::string run_file_text(const RunConfig& run);

/// Return the section `data` alone: files, fields, sample_axes, broadcast.
/// \param beside  What is FILES in the fields' "FILES::PATH"; null: whatever stands before a "::".
std::string data_section_text(const RunConfig& run, const std::set<std::string>* beside = nullptr);

}  // namespace headrace
