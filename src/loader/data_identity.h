// What stands for the data in a state: equal for copies of the files in other places.
#pragma once

#include <string>

#include "assembly/block_layout.h"
#include "assembly/source.h"

namespace headrace {

/// Return what rows there are, in which blocks and of which fields, as 16 hexadecimal digits.
std::string hash_of(const Source& source, const BlockLayout& layout);

}  // namespace headrace
