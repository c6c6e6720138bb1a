// What lies at paths now, to be compared with what lay there.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/fingerprint.h"

namespace headrace {

/// Return the version of what lies at each path: of a file, its fingerprint; of a directory, that of all files directly
/// in it, those of a Zarr array's chunks for example (FileFingerprint::entries, ctime_ns). nullopt: neither lies there,
/// or it cannot be looked at. Blocks: one look at each file, by up to 16 threads where they are many. Threads: any.
std::vector<std::optional<FileFingerprint>> versions_now(std::span<const std::string> paths);

/// Return the same of one path.
std::optional<FileFingerprint> version_now(const std::string& path);

}  // namespace headrace
