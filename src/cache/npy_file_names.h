// Names of the .npy files of a cache.
#pragma once

#include <headrace/catalog/field.h>

#include <string>
#include <vector>

namespace headrace {

/// Return a plain file name for every field, in order: letters, digits, '_' and '-' of its name, made unique, such as
/// "image.npy".
std::vector<std::string> npy_file_names(const std::vector<Field>& fields);

}  // namespace headrace
