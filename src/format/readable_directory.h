// Directories that are opened as files are: caches of .npy files, Zarr stores.
#pragma once

#include <string>

namespace headrace {

/// Return whether open_file() opens a directory. Blocks: looks at some names in it.
bool is_readable_directory(const std::string& path);

/// Return what a directory is that open_file() does not open, for messages: "an N5 container"; empty: nothing known.
std::string unread_directory(const std::string& path);

}  // namespace headrace
