// The user's index store, listed and cleared: the part of `cache` that needs no directory.
#pragma once

#include <headrace/tools.h>

#include <string>

namespace headrace {

/// List the data sets that are remembered, and whether their files are still what they were. Throws kNotFound if
/// remembering is switched off.
ToolResult index_list();

/// Forget a data set. Throws kNotFound, with the names there are.
ToolResult index_remove(const std::string& name);

}  // namespace headrace
