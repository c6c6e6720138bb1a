// Settings as the text of a run file, and back.
#pragma once

#include <headrace/tools/tools.h>

#include <set>
#include <string>

#include "base/result.h"
#include "loader/options_table.h"

namespace headrace {

/// Read the text of a run file; no I/O but for what `cache` names. \param path  Of the file, which relative paths start
/// at. Errors: kInvalidArgument; kUnsupported  text that is not tokenised.
Result<RunConfig> parse_run(const std::string& text, const std::string& path);

/// Return a run file that means the same wherever it is written: relative paths become absolute. Every option that has
/// another value than its default is in it.
std::string run_file_text(const RunConfig& run);

/// Return the value of a loader's option as a run file has it: names and paths are quoted, paths absolute.
std::string option_text(const LoaderOption& option, const LoaderSettings& settings);

/// Return the section `data` alone: files, fields, sample_axes, broadcast.
/// \param beside  What is FILES in the fields' "FILES::PATH"; null: whatever stands before a "::".
std::string data_section_text(const RunConfig& run, const std::set<std::string>* beside = nullptr);

}  // namespace headrace
