#include "cache/directory/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>

#include "base/checksum/crc32c.h"
#include "storage/file_calls.h"

namespace headrace {
namespace {

constexpr std::size_t kMaxCallBytes = std::size_t{1} << 30;  // Linux moves at most 0x7ffff000 bytes in one call
constexpr std::size_t kPieceBytes = std::size_t{256} << 10;  // stays in the second-level cache

struct CloseStream {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

std::string temporary_name(const std::string& name) {
  return fmt::format("{}.{}.tmp", name, ::getpid());
}

}  // namespace

Error system_error(const char* call, int error_number, const std::string& path, ErrorCode otherwise) {
  ErrorCode code = otherwise;
  const char* hint = "";
  if (error_number == EACCES || error_number == EPERM || error_number == EROFS) {
    code = ErrorCode::kPermission;
    hint = "Name another folder, or look at the owner and mode with: namei -l FOLDER.";
  } else if (error_number == ENOENT) {
    code = ErrorCode::kNotFound;
  } else if (error_number == ENOSPC || error_number == EDQUOT) {
    hint = "Free some space (headrace cache ls FOLDER lists the caches), or name a folder on a larger disk.";
  } else if (error_number == EFBIG) {
    hint = "Raise the limit with: ulimit -f unlimited.";
  } else if (error_number == EIO) {
    hint = "The disk or the network file system failed: look at dmesg.";
  } else if (error_number == EMFILE) {
    hint = "Raise the limit with: ulimit -n 4096.";
  }
  return Error(code, fmt::format("{} failed with {}", call, errno_name(error_number)))
      .with_file(path)
      .with_stage("cache")
      .with_hint(hint);
}

Status write_all(int fd, const std::string& path, std::span<const std::byte> data, std::uint64_t offset) {
  while (!data.empty()) {
    const std::size_t size = std::min(data.size(), kMaxCallBytes);
    const ssize_t done = ::pwrite(fd, data.data(), size, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0)
      return system_error("pwrite", done == 0 ? ENOSPC : errno, path, ErrorCode::kWriteFailed)
          .with_bytes({offset, data.size()});
    data = data.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
  return {};
}

Status read_all(int fd, const std::string& path, std::span<std::byte> data, std::uint64_t offset) {
  while (!data.empty()) {
    const std::size_t size = std::min(data.size(), kMaxCallBytes);
    const ssize_t done = ::pread(fd, data.data(), size, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return system_error("pread", errno, path, ErrorCode::kReadFailed).with_bytes({offset, data.size()});
    if (done == 0)
      return Error(ErrorCode::kCorruptData, fmt::format("the file ends at byte {}", offset))
          .with_file(path)
          .with_bytes({offset, data.size()})
          .with_stage("cache");
    data = data.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
  return {};
}

Result<std::uint32_t> crc32c_of_file(int fd, const std::string& path, std::uint64_t offset, std::uint64_t size_bytes) {
  thread_local const auto piece = std::make_unique<std::byte[]>(kPieceBytes);
  std::uint32_t crc = 0;
  for (std::uint64_t done = 0; done < size_bytes;) {
    const std::span<std::byte> bytes(piece.get(), std::min<std::uint64_t>(kPieceBytes, size_bytes - done));
    HEADRACE_TRY(read_all(fd, path, bytes, offset + done));
    crc = crc32c(bytes, crc);
    done += bytes.size();
  }
  return crc;
}

Result<Folder> Folder::open(const std::string& path) {
  Folder folder;
  folder.path_ = path;
  folder.fd_ = Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.fd_) return system_error("open", errno, path, ErrorCode::kInvalidArgument);
  return folder;
}

Result<Folder> Folder::open_child(const std::string& name) const {
  Folder folder;
  folder.path_ = path_of(name);
  folder.fd_ = Descriptor(::openat(fd(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.fd_) return system_error("open", errno, folder.path_, ErrorCode::kInvalidArgument);
  return folder;
}

Result<Folder> Folder::make(const std::string& path) {
  std::filesystem::path made;
  for (const auto& part : std::filesystem::path(path)) {
    made /= part;
    if (::mkdir(made.c_str(), 0700) == 0 || errno == EEXIST) continue;
    const int error_number = errno;
    struct stat status {};  // a folder above it may be there on a file system that is read only
    if (::stat(made.c_str(), &status) != 0)
      return system_error("mkdir", error_number, made.string(), ErrorCode::kWriteFailed);
  }
  return open(path);
}

struct stat Folder::status() const {
  struct stat status {};
  ::fstat(fd(), &status);
  return status;
}

Result<std::vector<std::string>> Folder::names() const {
  const int copy = ::openat(fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);  // a place of its own in the folder
  // Held by an object: there may be no memory for a name.
  const std::unique_ptr<DIR, CloseStream> stream(copy < 0 ? nullptr : ::fdopendir(copy));
  if (!stream) {
    const int error_number = errno;
    if (copy >= 0) ::close(copy);
    return system_error("opendir", error_number, path_, ErrorCode::kReadFailed);
  }
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(stream.get())) {  // NOLINT(concurrency-mt-unsafe): the stream is ours
    const std::string name = static_cast<const char*>(entry->d_name);
    if (name != "." && name != "..") names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<Descriptor> Folder::open_file(const std::string& name, int flags) const {
  // O_NONBLOCK: a FIFO of that name cannot hang us
  Descriptor file(::openat(fd(), name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600));
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  const ErrorCode otherwise = writes ? ErrorCode::kWriteFailed : ErrorCode::kReadFailed;
  if (!file) return system_error("open", errno, path_of(name), otherwise);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return system_error("fstat", errno, path_of(name), otherwise);
  if (!S_ISREG(status.st_mode))
    return Error(ErrorCode::kCorruptData, "it is not a regular file").with_file(path_of(name)).with_stage("cache");
  return file;
}

Result<std::string> Folder::read_file(const std::string& name, std::uint64_t most_bytes) const {
  HEADRACE_ASSIGN(const Descriptor file, open_file(name, O_RDONLY));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return system_error("fstat", errno, path_of(name), ErrorCode::kReadFailed);
  const auto size_bytes = static_cast<std::uint64_t>(status.st_size);
  if (size_bytes > most_bytes)
    return Error(ErrorCode::kCorruptData,
                 fmt::format("it has {} bytes, at most {} are expected", size_bytes, most_bytes))
        .with_file(path_of(name))
        .with_stage("cache");
  std::string text(size_bytes, '\0');
  HEADRACE_TRY(read_all(file.get(), path_of(name), std::as_writable_bytes(std::span(text)), 0));
  return text;
}

Status Folder::write_file(const std::string& name, std::string_view text) const {
  const std::string temporary = temporary_name(name);
  HEADRACE_ASSIGN(const Descriptor file, open_file(temporary, O_WRONLY | O_CREAT | O_TRUNC));
  Status status = write_all(file.get(), path_of(name), std::as_bytes(std::span(text)), 0);
  if (status.ok() && ::fsync(file.get()) != 0)
    status = system_error("fsync", errno, path_of(name), ErrorCode::kWriteFailed);
  if (status.ok() && ::renameat(fd(), temporary.c_str(), fd(), name.c_str()) != 0)
    status = system_error("rename", errno, path_of(name), ErrorCode::kWriteFailed);
  if (!status.ok()) ::unlinkat(fd(), temporary.c_str(), 0);
  return status;
}

Status Folder::sync() const {
  // Some file systems cannot sync a folder and say EINVAL: they have nothing to make last either.
  if (::fsync(fd()) != 0 && errno != EINVAL && errno != EBADF)
    return system_error("fsync", errno, path_, ErrorCode::kWriteFailed);
  return {};
}

bool Folder::holds(const std::string& name, const Folder& child) const {
  struct stat now {};
  if (::fstatat(fd(), name.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0) return false;
  const struct stat then = child.status();
  return now.st_dev == then.st_dev && now.st_ino == then.st_ino;
}

}  // namespace headrace
