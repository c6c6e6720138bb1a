// What the sources of a cache are now.
#pragma once

#include <optional>
#include <vector>

#include "cache/directory/cache_directory.h"
#include "storage/version_now.h"

namespace headrace {

/// Return the version of each source that its path has now; nullopt: it is gone, or cannot be seen.
inline std::vector<std::optional<FileFingerprint>> versions_of(const std::vector<CacheSource>& sources) {
  std::vector<std::string> paths;
  for (const CacheSource& source : sources) paths.push_back(source.path);
  return versions_now(paths);
}

}  // namespace headrace
