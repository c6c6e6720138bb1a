// Files beside a data set's own, in a Source that is made of another one.
#pragma once

#include <cstddef>
#include <span>

#include "assembly/source.h"

namespace headrace {

/// Return `file` with these of its arrays in this order, each once, and of the files beside it those that they lie in.
SourceFile with_arrays(const SourceFile& file, std::span<const std::size_t> arrays);

}  // namespace headrace
