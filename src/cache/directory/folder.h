// Folder: an open directory, and files in it by their plain names. Symbolic links are never followed inside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cache/descriptor.h"

struct stat;

namespace headrace {

/// Return what the system refused, with its reason and a hint: kPermission (EACCES, EPERM, EROFS), kNotFound (ENOENT)
/// or `otherwise`.
Error system_error(const char* call, int error_number, const std::string& path, ErrorCode otherwise);

/// Write all of it with pwrite(). Errors: kWriteFailed (ENOSPC and the like), with the bytes.
Status write_all(int fd, const std::string& path, std::span<const std::byte> data, std::uint64_t offset);
/// Read all of it with pread(). Errors: kCorruptData: the file is shorter; kReadFailed.
Status read_all(int fd, const std::string& path, std::span<std::byte> data, std::uint64_t offset);
/// Return CRC-32C of bytes of a file, read in pieces. Errors: as read_all().
Result<std::uint32_t> crc32c_of_file(int fd, const std::string& path, std::uint64_t offset, std::uint64_t size_bytes);

class Folder {
 public:
  Folder() = default;
  /// Errors: kNotFound, kPermission, kInvalidArgument: not a directory.
  static Result<Folder> open(const std::string& path);
  /// Open one inside this one.
  [[nodiscard]] Result<Folder> open_child(const std::string& name) const;
  /// Make it, and what is missing above it, with mode 0700, and open it.
  static Result<Folder> make(const std::string& path);

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string path_of(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] struct stat status() const;
  /// Return the names in it, sorted. Errors: kReadFailed.
  [[nodiscard]] Result<std::vector<std::string>> names() const;

  /// Open a regular file. \param flags  Of open(2), besides O_CLOEXEC and O_NOFOLLOW; new files get mode 0600.
  [[nodiscard]] Result<Descriptor> open_file(const std::string& name, int flags) const;
  /// Read a whole file. Errors: kCorruptData if it is larger than `most_bytes`.
  [[nodiscard]] Result<std::string> read_file(const std::string& name, std::uint64_t most_bytes) const;
  /// Write a file under another name, make it last and give it its own name.
  [[nodiscard]] Status write_file(const std::string& name, std::string_view text) const;
  /// Make what was renamed, made and removed in it last.
  [[nodiscard]] Status sync() const;
  /// Return true if `name` in this folder still is the directory that `child` was opened as.
  [[nodiscard]] bool holds(const std::string& name, const Folder& child) const;

 private:
  std::string path_;
  Descriptor fd_;
};

}  // namespace headrace
