#include "storage/file_system.h"

#include <dirent.h>
#include <sys/stat.h>

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>

#include "storage/file_calls.h"
#include "storage/local_file.h"
#include "storage/read_waits.h"

namespace headrace {
namespace {

const char* path_of(const std::string& url) {
  return url.empty() ? "." : url.c_str();
}

Error failed(const std::string& url, const char* call, int error_number, const char* forbidden) {
  if (error_number == EACCES || error_number == EPERM)
    return Error(ErrorCode::kPermission, forbidden).with_file(path_of(url));
  return Error(ErrorCode::kReadFailed, fmt::format("{} failed with {}", call, errno_name(error_number)))
      .with_file(path_of(url));
}

class LocalFileSystem final : public FileSystem {
 public:
  Result<std::shared_ptr<RandomAccessFile>> open(const std::string& url) const override {
    HEADRACE_ASSIGN(std::shared_ptr<LocalFile> file, LocalFile::open(url));
    return std::shared_ptr<RandomAccessFile>(std::move(file));
  }

  std::shared_ptr<RandomAccessFile> known(const std::string& url, const FileFingerprint& fingerprint) const override {
    return LocalFile::known(url, fingerprint);
  }

  Result<PathStatus> status(const std::string& url) const override {
    const TimedFileCall timed;
    struct stat facts {};
    if (FileCalls::system().stat(path_of(url), &facts) != 0) {
      const int error_number = errno;
      if (error_number != ENOENT && error_number != ENOTDIR && error_number != ELOOP && error_number != ENAMETOOLONG)
        return failed(url, "stat", error_number, "a directory on the way to this file may not be entered");
      if (::lstat(path_of(url), &facts) != 0) return PathStatus{};
      return PathStatus{PathKind::kOther, fingerprint_of(facts)};
    }
    const PathKind kind = S_ISREG(facts.st_mode)   ? PathKind::kFile
                          : S_ISDIR(facts.st_mode) ? PathKind::kDirectory
                                                   : PathKind::kOther;
    return PathStatus{kind, fingerprint_of(facts)};
  }

  Result<std::vector<std::string>> list(const std::string& directory) const override {
    constexpr const char* kForbidden = "this directory may not be read";
    std::vector<std::string> names;
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(path_of(directory)), ::closedir);
    if (!stream) {
      const int error_number = errno;
      if (error_number == ENOENT || error_number == ENOTDIR) return names;
      return failed(directory, "opendir", error_number, kForbidden);
    }
    for (errno = 0; const dirent* entry = ::readdir(stream.get()); errno = 0) {  // NOLINT(concurrency-mt-unsafe): ours
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    if (errno != 0) return failed(directory, "readdir", errno, kForbidden);
    return names;
  }

  std::string absolute(const std::string& url) const override {
    std::error_code ignored;
    return std::filesystem::absolute(url, ignored).lexically_normal().string();
  }

  std::string canonical(const std::string& url) const override {
    std::error_code ignored;
    return std::filesystem::weakly_canonical(url, ignored).string();
  }
};

}  // namespace

const FileSystem& FileSystem::of(const std::string&) {
  static const LocalFileSystem& local = *new LocalFileSystem;  // never destroyed: files may outlive static objects
  return local;
}

}  // namespace headrace
