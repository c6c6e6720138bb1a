// Files beside a data set's own, in a Source that is made of another one.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "assembly/source.h"

namespace headrace {

/// Return `file` with these of its arrays in this order, each once, and of the files beside it those that they lie in.
SourceFile with_arrays(const SourceFile& file, std::span<const std::size_t> arrays);

/// Return what Dataset::companion_files() says, of a source.
std::map<std::string, std::vector<std::string>> companion_files_of(const Source& source);

}  // namespace headrace
