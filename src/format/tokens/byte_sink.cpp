#include "format/tokens/byte_sink.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "format/tokens/token_manifest.h"
#include "storage/file_calls.h"

namespace headrace::token_files {
namespace {

constexpr std::size_t kBufferBytes = 1 << 20;

Error write_error(const std::string& path, const char* call, int error_number) {
  return Error(ErrorCode::kWriteFailed, fmt::format("{}: {}", call, errno_name(error_number)))
      .with_file(path)
      .with_stage("write");
}

/// Bring the names in a path's folder to the disk.
void save_folder_of(const std::string& path) {
  const int folder = ::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;  // it can be entered and not read: the name is given all the same
  ::fsync(folder);
  ::close(folder);
}

}  // namespace

ByteSink::~ByteSink() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Error ByteSink::failed(const char* call) const {
  return write_error(path_, call, errno);
}

Error ByteSink::lost(const char* call) {
  failure_ = failed(call);
  return *failure_;
}

Status ByteSink::create(const std::string& path) {
  path_ = path;
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) return failed("open");
  buffer_.reserve(kBufferBytes);
  return {};
}

Status ByteSink::reopen(const std::string& path, std::uint64_t size) {
  path_ = path;
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor_ < 0) return failed("open");
  const off_t there = ::lseek(descriptor_, 0, SEEK_END);
  if (there < 0) return failed("lseek");
  if (static_cast<std::uint64_t>(there) < size)
    return Error(ErrorCode::kCorruptData, fmt::format("{} bytes were written, and {} are there", size, there))
        .with_file(path)
        .with_stage("write")
        .with_hint("Remove what is unfinished, and begin again.");
  if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) return failed("ftruncate");
  if (::lseek(descriptor_, 0, SEEK_END) < 0) return failed("lseek");
  size_ = size;
  buffer_.reserve(kBufferBytes);
  return {};
}

Status ByteSink::save() {
  HEADRACE_TRY(flush());
  if (::fdatasync(descriptor_) != 0) return lost("fdatasync");  // a second one may succeed, and the bytes are gone
  return {};
}

Status ByteSink::write(std::span<const std::byte> bytes) {
  if (failure_) return *failure_;
  size_ += bytes.size();
  while (!bytes.empty()) {
    const std::span<const std::byte> part = bytes.first(std::min(bytes.size(), kBufferBytes - buffer_.size()));
    buffer_.insert(buffer_.end(), part.begin(), part.end());
    bytes = bytes.subspan(part.size());
    if (buffer_.size() == kBufferBytes) HEADRACE_TRY(flush());
  }
  return {};
}

Status ByteSink::flush() {
  if (failure_) return *failure_;
  for (std::span<const std::byte> left = buffer_; !left.empty();) {
    const ssize_t written = ::write(descriptor_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return lost("write");
    left = left.subspan(static_cast<std::size_t>(written));
  }
  buffer_.clear();
  return {};
}

Status ByteSink::rewrite_start(std::string_view text) {
  HEADRACE_TRY(flush());
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = ::pwrite(descriptor_, text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return lost("pwrite");
    done += static_cast<std::size_t>(written);
  }
  return {};
}

Status ByteSink::close() {
  HEADRACE_TRY(save());
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0) return failed("close");
  return {};
}

Result<bool> give_name(const std::string& from, const std::string& to) {
  constexpr unsigned kNoReplace = 1;  // RENAME_NOREPLACE of linux/fs.h
  for (bool again = true;; again = false) {
    if (::syscall(SYS_renameat2, AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), kNoReplace) == 0) break;
    if (errno == EEXIST && again && ::rmdir(to.c_str()) == 0) continue;  // an empty folder
    if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR) return false;
    if (errno != EINVAL && errno != ENOSYS) return write_error(to, "rename", errno);
    struct stat there {};  // a file system without it
    if (::lstat(to.c_str(), &there) == 0) return false;
    if (std::rename(from.c_str(), to.c_str()) != 0) return write_error(to, "rename", errno);
    break;
  }
  save_folder_of(to);
  return true;
}

Status replace_name(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) return write_error(to, "rename", errno);
  save_folder_of(to);
  return {};
}

}  // namespace headrace::token_files
