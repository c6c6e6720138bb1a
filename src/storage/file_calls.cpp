#include "storage/file_calls.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

namespace headrace {

int FileCalls::open(const char* path) const {
  return ::open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}
int FileCalls::close(int fd) const {
  return ::close(fd);
}
int FileCalls::replace(int from, int onto) const {
  return ::dup3(from, onto, O_CLOEXEC);
}
ssize_t FileCalls::pread(int fd, void* out, std::size_t size, off_t offset) const {
  return ::pread(fd, out, size, offset);
}
void FileCalls::will_need(int fd, off_t offset, off_t size) const {
  (void)::posix_fadvise(fd, offset, size, POSIX_FADV_WILLNEED);
}
int FileCalls::fstat(int fd, struct stat* out) const {
  return ::fstat(fd, out);
}
int FileCalls::stat(const char* path, struct stat* out) const {
  return ::stat(path, out);
}
void FileCalls::pause_ms(int milliseconds) const {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

namespace {
std::atomic<const FileCalls*>& replaced() {
  static std::atomic<const FileCalls*> calls{nullptr};
  return calls;
}
}  // namespace

const FileCalls& FileCalls::system() {
  static const FileCalls calls;
  const FileCalls* const other = replaced().load(std::memory_order_acquire);
  return other ? *other : calls;
}

void FileCalls::replace_system(const FileCalls* calls) {
  replaced().store(calls, std::memory_order_release);
}

const char* errno_name(int error_number) {
  switch (error_number) {
    case EACCES:
      return "EACCES (permission denied)";
    case EAGAIN:
      return "EAGAIN (resource temporarily unavailable)";
    case EBADF:
      return "EBADF (bad file descriptor)";
    case EDQUOT:
      return "EDQUOT (disk quota exceeded)";
    case EFAULT:
      return "EFAULT (bad address)";
    case EFBIG:
      return "EFBIG (file larger than this process or file system may write)";
    case EINTR:
      return "EINTR (interrupted)";
    case EINVAL:
      return "EINVAL (invalid argument)";
    case EIO:
      return "EIO (input/output error)";
    case EISDIR:
      return "EISDIR (is a directory)";
    case ELOOP:
      return "ELOOP (too many symbolic links)";
    case EMFILE:
      return "EMFILE (too many open files in this process)";
    case ENAMETOOLONG:
      return "ENAMETOOLONG (file name too long)";
    case ENFILE:
      return "ENFILE (too many open files in the system)";
    case ENODEV:
      return "ENODEV (no such device)";
    case ENOENT:
      return "ENOENT (no such file)";
    case ENOMEM:
      return "ENOMEM (out of memory)";
    case ENOSPC:
      return "ENOSPC (no space left on the device)";
    case ENOTCONN:
      return "ENOTCONN (the file system is not connected)";
    case ENOTDIR:
      return "ENOTDIR (a part of the path is not a directory)";
    case ENXIO:
      return "ENXIO (no such device)";
    case EOPNOTSUPP:
      return "EOPNOTSUPP (not supported by the file system)";
    case EOVERFLOW:
      return "EOVERFLOW (value too large)";
    case EPERM:
      return "EPERM (operation not permitted)";
    case EROFS:
      return "EROFS (read-only file system)";
    case ESTALE:
      return "ESTALE (stale file handle)";
    case ETIMEDOUT:
      return "ETIMEDOUT (timed out)";
    default:
      return "an error without a name here";
  }
}

}  // namespace headrace
