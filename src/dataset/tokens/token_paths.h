// From what a user names as files of tokens to the files that hold the numbers.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace headrace {

/// Return the files of tokens that paths, globs and folders stand for: of an index the file beside it, of a folder the
/// shards that its manifest lists. Errors: those of expand_paths(); kInvalidArgument  a folder without a manifest, or a
/// file that is given twice; those of reading manifests.
Result<std::vector<std::string>> token_paths(const std::vector<std::string>& paths);

}  // namespace headrace
