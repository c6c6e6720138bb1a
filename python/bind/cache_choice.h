// Loader(cache=) as headrace._options has checked it.
#pragma once

#include <headrace/loader/loader.h>

#include <string>

namespace headrace::python {

/// \param mode  "auto", "none", "ram" or "directory".
inline CacheChoice to_cache_choice(const std::string& mode, const std::string& directory) {
  return {mode == "none"        ? CacheChoice::kNone
          : mode == "ram"       ? CacheChoice::kRam
          : mode == "directory" ? CacheChoice::kDirectory
                                : CacheChoice::kAuto,
          directory};
}

}  // namespace headrace::python
