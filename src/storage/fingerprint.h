// What tells one version of a file from another without reading it.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

namespace headrace {

/// Identity and version of a local file. The kernel stamps times in ticks of some milliseconds: a rewrite of equal size
/// within the tick in which the file was opened is not seen.
struct FileFingerprint {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size_bytes = 0;
  std::int64_t mtime_ns = 0;  ///< Time of the last modification, since 1970.
  friend bool operator==(const FileFingerprint&, const FileFingerprint&) = default;
};

FileFingerprint fingerprint_of(const struct stat& status);

/// What changed, in words with both values ("it shrank from 4096 to 100 bytes"); nullopt if nothing did.
std::optional<std::string> describe_change(const FileFingerprint& before, const FileFingerprint& now);

}  // namespace headrace
