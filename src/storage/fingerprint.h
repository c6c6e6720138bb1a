// What tells one version of a file from another without reading it.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

namespace headrace {

/// Identity and version of a local file or directory. The kernel stamps times in ticks of some milliseconds: a rewrite
/// of equal size within the tick in which the file was opened is not seen.
struct FileFingerprint {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size_bytes = 0;  ///< Size of a file; 0 for a directory, whose own says nothing of what is in it.
  /// Time of the last modification, since 1970; of a directory, as version_now() has it, the latest of its own and of
  /// its files', which holds for the next one, too.
  std::int64_t mtime_ns = 0;
  /// Time of the last change of the file or of its inode, which no program can set. 0: not known.
  std::int64_t ctime_ns = 0;
  std::uint64_t entries = 0;  ///< What version_now() makes of the files in a directory; 0 for a file.
  friend bool operator==(const FileFingerprint&, const FileFingerprint&) = default;
};

FileFingerprint fingerprint_of(const struct stat& status);

/// How two looks at one path differ.
enum class FileChange : std::uint8_t {
  kNone,
  kTouched,  ///< Size and date are the same, and yet it is another inode, or something of it changed: its mode, its
             ///< links, or bytes behind which the date was put back. Most often the bytes are the same.
  kChanged,  ///< Written to, or another file.
};

/// Return the one notion of what is unchanged: for files, directories and the files of chunks in them. What one of the
/// two does not know is not compared; zeros before know nothing.
FileChange change_between(const FileFingerprint& before, const FileFingerprint& now);

/// Say what differs, in words with both values ("it shrank from 4096 to 100 bytes"); nullopt where nothing does.
std::optional<std::string> describe_change(const FileFingerprint& before, const FileFingerprint& now);

}  // namespace headrace
