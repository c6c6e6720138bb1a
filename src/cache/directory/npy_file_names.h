// Names of the .npy files of a cache.
#pragma once

#include "catalog/stored_column.h"

#include <string>
#include <vector>

namespace headrace {

/// Return a plain file name for every field, in order: letters, digits, '_' and '-' of its name, made unique, such as
/// "image.npy".
std::vector<std::string> npy_file_names(const std::vector<StoredColumn>& fields);

}  // namespace headrace
