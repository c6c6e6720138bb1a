#include "storage/local_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "storage/page_cache.h"
#include "storage/range_check.h"
#include "storage/read_waits.h"
#include "storage/touched_files.h"

namespace headrace {
namespace {

constexpr std::size_t kMaxCallBytes = std::size_t{1} << 30;  // Linux moves at most 0x7ffff000 bytes in one call
constexpr std::array<int, 2> kPausesMs{1, 10};               // before the first and the second retry

bool runs_out(int error_number) {
  return error_number == EMFILE || error_number == ENFILE;
}

const char* hint_of(int error_number) {
  switch (error_number) {
    case EIO:
      return "The disk or the network file system failed: look at dmesg, or copy the file to see where it breaks.";
    case ESTALE:
      return "The network file system lost the file: check the mount and whether the file was replaced.";
    case EMFILE:
      return "Raise the limit with: ulimit -n 4096.";
    case EACCES:
    case EPERM:
      return "Look at its owner and mode, and those of its folders, with: namei -l FILE.";
    case ELOOP:
      return "Its links lead in a circle: follow them with: namei -l FILE.";
    default:
      return "";
  }
}

Error open_error(const std::string& name, const char* call, int error_number) {
  const bool absent = error_number == ENOENT || error_number == ENOTDIR;
  const bool forbidden = error_number == EACCES || error_number == EPERM;
  const ErrorCode code = absent ? ErrorCode::kNotFound : forbidden ? ErrorCode::kPermission : ErrorCode::kReadFailed;
  const std::string text = absent      ? "there is no such file"
                           : forbidden ? "this user may not read it"
                                       : fmt::format("{} failed with {}", call, errno_name(error_number));
  return Error(code, text).with_file(name).with_stage("open").with_hint(hint_of(error_number));
}

}  // namespace

Result<std::shared_ptr<LocalFile>> LocalFile::open(const std::string& path, const FileCalls& calls, FdPool& pool) {
  const auto refuse = [&](const char* why) {
    return Error(ErrorCode::kInvalidArgument, why).with_file(path).with_stage("open");
  };
  if (&pool == &FdPool::process()) HEADRACE_TRY(FdPool::process_setting());
  if (path.empty()) return refuse("a file name is expected, not an empty string");
  if (path.find('\0') != std::string::npos) return refuse("a file name holds no zero byte");
  std::error_code ec;
  const std::filesystem::path absolute = std::filesystem::absolute(path, ec);
  std::shared_ptr<LocalFile> file(new LocalFile(path, ec ? path : absolute.string(), calls, pool));
  int fd = -1;
  for (;;) {
    fd = calls.open(file->path_.c_str());
    if (fd >= 0) break;
    const int error_number = errno;
    if (error_number == EINTR) continue;
    if (runs_out(error_number) && pool.close_one()) continue;
    return open_error(path, "open", error_number);
  }
  struct stat status {};
  if (calls.fstat(fd, &status) != 0) {
    const int error_number = errno;
    calls.close(fd);
    return open_error(path, "fstat", error_number);
  }
  if (!S_ISREG(status.st_mode)) {
    calls.close(fd);
    if (S_ISDIR(status.st_mode))
      return refuse("it is a directory").with_hint("Name files, or a pattern such as DIR/*.h5.");
    return refuse("it is not a regular file");
  }
  file->fingerprint_ = fingerprint_of(status);
  pool.adopt(*file, fd);
  return file;
}

std::shared_ptr<LocalFile> LocalFile::known(const std::string& path, const FileFingerprint& fingerprint,
                                            const FileCalls& calls, FdPool& pool) {
  std::error_code ec;
  const std::filesystem::path absolute = std::filesystem::absolute(path, ec);
  std::shared_ptr<LocalFile> file(new LocalFile(path, ec ? path : absolute.string(), calls, pool));
  file->fingerprint_ = fingerprint;
  return file;
}

LocalFile::~LocalFile() {
  pool_.leave(*this);
}

Error LocalFile::changed(const std::string& what) const {
  return Error(ErrorCode::kFileChanged, "the file changed while it was in use: " + what)
      .with_file(name_)
      .with_stage("read")
      .with_hint("Open the data set again; write new versions under a new name.");
}

Status LocalFile::check_same(const FileFingerprint& now) const {
  switch (change_between(fingerprint_, now)) {
    case FileChange::kChanged:
      return changed(*describe_change(fingerprint_, now));
    case FileChange::kTouched:
      if (!was_touched_.exchange(true)) note_touched(name_, *describe_change(fingerprint_, now));
      break;
    case FileChange::kNone:
      break;
  }
  return {};
}

Error LocalFile::failed(const char* call, int error_number) const {
  return Error(ErrorCode::kReadFailed, fmt::format("{} failed with {}", call, errno_name(error_number)))
      .with_file(name_)
      .with_stage("read")
      .with_hint(hint_of(error_number));
}

Result<int> LocalFile::open_same(bool& out_of_descriptors) const {
  int fd = -1;
  do fd = calls_.open(path_.c_str());
  while (fd < 0 && errno == EINTR);
  if (fd < 0) {
    const int error_number = errno;
    out_of_descriptors = runs_out(error_number);
    if (error_number == ENOENT || error_number == ENOTDIR) return changed("it was removed");
    return open_error(name_, "open", error_number);
  }
  struct stat status {};
  if (calls_.fstat(fd, &status) != 0) {
    const int error_number = errno;
    calls_.close(fd);
    return failed("fstat", error_number);
  }
  if (Status same = check_same(fingerprint_of(status)); !same.ok()) {
    calls_.close(fd);
    return std::move(same.error());
  }
  return fd;
}

Result<int> LocalFile::open_descriptor(bool& out_of_descriptors) {
  return open_same(out_of_descriptors);
}

Status LocalFile::reopen_stale(int fd) {
  // Other threads may be reading from `fd`: it is not closed but made to refer to the file that was opened anew.
  const std::lock_guard guard(opening());
  bool out_of_descriptors = false;
  HEADRACE_ASSIGN(const int fresh, open_same(out_of_descriptors));
  const int done = calls_.replace(fresh, fd);
  const int error_number = errno;
  calls_.close(fresh);
  if (done < 0) return failed("dup3", error_number);
  return {};
}

Status LocalFile::read_pinned(int fd, std::uint64_t offset, std::span<std::byte> out) {
  std::size_t retries = 0;
  while (!out.empty()) {
    const ssize_t got = calls_.pread(fd, out.data(), std::min(out.size(), kMaxCallBytes), static_cast<off_t>(offset));
    if (got > 0) {
      out = out.subspan(std::min(static_cast<std::size_t>(got), out.size()));
      offset += static_cast<std::uint64_t>(got);
      continue;
    }
    if (got == 0) {  // the end comes before the size that the file had when it was opened
      struct stat status {};
      if (calls_.fstat(fd, &status) != 0) return failed("fstat", errno);
      HEADRACE_TRY(check_same(fingerprint_of(status)));
      return Error(ErrorCode::kCorruptData,
                   fmt::format("the file ends at {} although its size is {} bytes", offset, fingerprint_.size_bytes))
          .with_file(name_)
          .with_stage("read");
    }
    const int error_number = errno;
    if (error_number == EINTR) continue;
    const bool transient = error_number == EAGAIN || error_number == EIO || error_number == ESTALE;
    if (!transient || retries == kPausesMs.size()) return failed("pread", error_number);
    calls_.pause_ms(kPausesMs[retries++]);
    if (error_number == ESTALE) HEADRACE_TRY(reopen_stale(fd));
  }
  return {};
}

Status LocalFile::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  HEADRACE_TRY(check_range(name_, size(), offset, out.size()));
  if (out.empty()) return {};
  const TimedFileCall timed(out.size());
  auto& self = const_cast<LocalFile&>(*this);  // the descriptor is a cache, not part of the value
  HEADRACE_ASSIGN(const int fd, pool_.pin(self));
  Status status = self.read_pinned(fd, offset, out);
  FdPool::unpin(self);
  if (!status.ok()) status.error().with_bytes({offset, out.size()});
  return status;
}

RandomAccessFile::ReadAhead LocalFile::read_ahead() const {
  return keeps_pages(fingerprint_.device) ? ReadAhead::kPageCache : ReadAhead::kHold;
}

void LocalFile::expect_read(ByteRange range) const {
  if (!files_answer_late() || range.offset >= size()) return;
  auto& self = const_cast<LocalFile&>(*this);  // as in read_at()
  const Result<int> fd = pool_.pin(self);
  if (!fd.ok()) return;  // reading tells why
  calls_.will_need(*fd, static_cast<off_t>(range.offset), static_cast<off_t>(range.size));
  FdPool::unpin(self);
}

Status LocalFile::check_unchanged() const {
  const TimedFileCall timed;
  struct stat status {};
  if (calls_.stat(path_.c_str(), &status) != 0) {
    const int error_number = errno;
    if (error_number == ENOENT || error_number == ENOTDIR) return changed("it was removed");
    return failed("stat", error_number);
  }
  return check_same(fingerprint_of(status));
}

}  // namespace headrace
