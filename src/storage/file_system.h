// FileSystem: how files are opened, listed, named and told apart. All that knows of directories, inodes and times.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "storage/fingerprint.h"
#include "storage/random_access_file.h"

namespace headrace {

/// What a name stands for.
enum class PathKind : std::uint8_t { kNothing, kFile, kDirectory, kOther /* a broken link, a socket, … */ };

struct PathStatus {
  PathKind kind = PathKind::kNothing;
  FileFingerprint fingerprint;  ///< Identity and version; its size is that of a file. Zeros for kNothing.
};

/// Threads: all members from any thread. Blocks: as long as the storage takes. Owner: the process; never destroyed.
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  /// Return the file system of a path or URL. Paths of this machine have one; there is no other yet.
  static const FileSystem& of(const std::string& url);

  /// Open a file for reading.
  /// Errors: kNotFound, kPermission, kInvalidArgument (a directory, an empty name), kReadFailed.
  [[nodiscard]] virtual Result<std::shared_ptr<RandomAccessFile>> open(const std::string& url) const = 0;
  /// Return a file that was looked at before, when it had `fingerprint`, without looking at it: the first read opens
  /// it. Its reads fail with kFileChanged if the file is another one by then.
  [[nodiscard]] virtual std::shared_ptr<RandomAccessFile> known(const std::string& url,
                                                                const FileFingerprint& fingerprint) const = 0;
  /// Say what is there now; links are followed. "" is the current directory. Nothing there is no error.
  /// Errors: kPermission  a directory on the way may not be entered; kReadFailed.
  [[nodiscard]] virtual Result<PathStatus> status(const std::string& url) const = 0;
  /// Return the names in a directory, in any order, without "." and "..". "" is the current directory. Nothing there,
  /// or no directory: no names. Errors: kPermission, kReadFailed.
  [[nodiscard]] virtual Result<std::vector<std::string>> list(const std::string& directory) const = 0;
  /// Return one spelling of `url`: absolute, without "." and "..". Looks at no storage, so links are not followed.
  [[nodiscard]] virtual std::string absolute(const std::string& url) const = 0;
  /// Return the same with links followed, as far as the path exists.
  [[nodiscard]] virtual std::string canonical(const std::string& url) const = 0;
};

}  // namespace headrace
