// The configuration of a program that trains on text with Grain, as a run: its words, and what each becomes.
#pragma once

#include <headrace/tools.h>

#include <string>

#include "base/result.h"
#include "spec/value.h"

namespace headrace {

/// Return true if a YAML file is no run file but such a configuration: it has no section `loader`, and a setting of
/// Grain's workers, a tokenizer, or where the data are and how long sequences are.
bool is_text_config(const Value& root);

/// Return the run: windows of token files, shuffled, with RunConfig::became. The words are those that
/// headrace.jax.load_text_dataset takes in Python (python/headrace/_programs/jax_text.py), whatever sections they lie
/// in; a section with the data's path has no others. \param path  Of the file, which relative paths start at. Errors:
/// kInvalidArgument: one is missing, unknown or given twice; kUnsupported: text that is not tokenised.
Result<RunConfig> read_text_config(const Value& root, const std::string& path);

}  // namespace headrace
