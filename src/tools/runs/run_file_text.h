// Settings as the text of a run file, and back.
#pragma once

#include <headrace/tools.h>

#include <set>
#include <string>

#include "base/result.h"
#include "loader/options/loader_settings.h"

namespace headrace {

/// Read the text of a run file; no I/O but for what `cache` names. \param path  Of the file, which relative paths start
/// at. Errors: kInvalidArgument; kUnsupported  text that is not tokenised.
Result<RunConfig> parse_run(const std::string& text, const std::string& path);

/// Return a run file that means the same wherever it is written: relative paths become absolute. Every option that has
/// another value than its default is in it. \param companions  As for data_section_text(). Throws kInvalidArgument: a
/// path that is not UTF-8.
std::string run_file_text(const RunConfig& run, const std::set<std::string>* companions = nullptr);

/// Return what a run says of its loader, word by word.
LoaderSettings loader_settings(const RunConfig& run);
/// Make a run's loader what settled words say.
void set_loader(RunConfig& run, const LoaderSettings& settings);

/// Return the section `data` alone. \param companions  What is FILES in the fields' "FILES::PATH"; null: whatever
/// stands before a "::". Throws as run_file_text().
std::string data_section_text(const RunConfig& run, const std::set<std::string>* companions = nullptr);

}  // namespace headrace
