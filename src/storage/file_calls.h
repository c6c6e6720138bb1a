// The system calls that a local file makes, as one object, so that tests can inject EINTR, short reads, EIO and ESTALE.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace headrace {

/// Each member behaves as the POSIX call of its name: -1 and errno on failure. The default is the real thing.
/// Threads: any.
class FileCalls {
 public:
  virtual ~FileCalls() = default;
  /// Open with O_RDONLY | O_CLOEXEC | O_NOCTTY, and O_NONBLOCK so that opening a FIFO cannot hang.
  virtual int open(const char* path) const;
  virtual int close(int fd) const;
  /// Make descriptor `onto` refer to what `from` refers to (dup3 with O_CLOEXEC): reads in flight on `onto` go on.
  virtual int replace(int from, int onto) const;
  virtual ssize_t pread(int fd, void* out, std::size_t size, off_t offset) const;
  /// Let the system fetch bytes into its page cache (posix_fadvise).
  virtual void will_need(int fd, off_t offset, off_t size) const;
  virtual int fstat(int fd, struct stat* out) const;
  virtual int stat(const char* path, struct stat* out) const;
  /// Wait before a retry.
  virtual void pause_ms(int milliseconds) const;

  /// Return the real system, or what a test put in its place.
  static const FileCalls& system();
  /// Let files that are opened from now on make these calls, in tests; null: the real ones.
  static void replace_system(const FileCalls* calls);
};

/// Return "EIO (input/output error)".
const char* errno_name(int error_number);

}  // namespace headrace
