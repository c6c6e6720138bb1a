// A file that a verb writes because it was told to: pictures, tables, run files.
#pragma once

#include <string>
#include <string_view>

namespace headrace::cli {

/// Write a whole file, over one that is there. \param what  What it is, for the error: "the picture". Throws
/// kWriteFailed.
void write_file(const std::string& path, std::string_view bytes, std::string_view what);

}  // namespace headrace::cli
