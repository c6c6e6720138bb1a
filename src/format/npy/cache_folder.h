// Headrace's own caches as data: a folder of .npy files, one a field, and a manifest that says which.
#pragma once

#include <memory>
#include <string>

#include "format/format_reader.h"

namespace headrace::npy {

/// Return true if `path` is a directory with a manifest.json in it.
bool is_cache_folder(const std::string& path);

/// Open a whole cache. Each field of the manifest is an array of that name; its type and shape are compared with the
/// manifest, whose own checksum is too. The values are not: `headrace cache verify` reads and compares them all.
/// Errors: kCorruptData  the manifest or a file is damaged, or does not fit the other; kUnsupported  another version;
/// those of opening and reading.
Result<std::shared_ptr<FormatReader>> open_cache_folder(const std::string& path);

}  // namespace headrace::npy
