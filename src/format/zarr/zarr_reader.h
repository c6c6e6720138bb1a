// Zarr directory stores, v2 and v3, as FormatReaders.
#pragma once

#include <memory>
#include <string>

#include "format/format_reader.h"

namespace headrace::zarr {

/// Open a store, a group or an array: each array below it by its path there, an array itself by its directory's name.
/// Errors: kUnsupported  a draft of v3; kCorruptData  metadata of the root that is damaged; those of reading. What is
/// wrong with one array is told when that is opened.
Result<std::shared_ptr<FormatReader>> open_store(const std::string& directory);

}  // namespace headrace::zarr
