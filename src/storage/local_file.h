// LocalFile: a file of the local or a mounted file system, read by pread. Why not mmap:
// docs/decisions/0005-pread-not-mmap.md.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "storage/fd_pool.h"
#include "storage/file_calls.h"
#include "storage/fingerprint.h"
#include "storage/random_access_file.h"

namespace headrace {

/// Retries: EINTR and short reads without limit; EAGAIN and EIO twice after 1 and 10 ms; ESTALE (a network file system
/// lost its handle) twice after opening the path again and finding the same file. Then kReadFailed with the name of the
/// errno.
class LocalFile final : public RandomAccessFile, private PooledFd {
 public:
  /// As FileSystem::open(); `calls` and `pool` must outlive the file.
  static Result<std::shared_ptr<LocalFile>> open(const std::string& path, const FileCalls& calls = FileCalls::system(),
                                                 FdPool& pool = FdPool::process());
  /// Return a file that was looked at before, when it had `fingerprint`: it is opened by the first read, which fails
  /// with kFileChanged if it is another one by then. Costs no system call.
  static std::shared_ptr<LocalFile> known(const std::string& path, const FileFingerprint& fingerprint,
                                          const FileCalls& calls = FileCalls::system(),
                                          FdPool& pool = FdPool::process());
  ~LocalFile() override;

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::uint64_t size() const override { return fingerprint_.size_bytes; }
  Status read_at(std::uint64_t offset, std::span<std::byte> out) const override;
  /// Look at the path: a file renamed over it, removed, appended to or rewritten in place is noticed. While the path
  /// still names the inode that was opened, the descriptor can be no other file. One that was touched alone
  /// (FileChange::kTouched) is read on, and note_touched() is told once.
  Status check_unchanged() const override;

  /// Tell the system, where files answer late: from a local disk, reading is over sooner than it pays.
  void expect_read(ByteRange range) const override;
  [[nodiscard]] ReadAhead read_ahead() const override;

  /// Return the file as it was when it was opened: the key of what is remembered of it.
  [[nodiscard]] FileFingerprint fingerprint() const override { return fingerprint_; }

 private:
  LocalFile(std::string name, std::string absolute_path, const FileCalls& calls, FdPool& pool)
      : PooledFd(calls), name_(std::move(name)), path_(std::move(absolute_path)), calls_(calls), pool_(pool) {}
  Result<int> open_descriptor(bool& out_of_descriptors) override;
  /// Open the path and check that it still is the same file.
  Result<int> open_same(bool& out_of_descriptors) const;
  Status reopen_stale(int fd);
  Status read_pinned(int fd, std::uint64_t offset, std::span<std::byte> out);
  Status check_same(const FileFingerprint& now) const;
  Error changed(const std::string& what) const;
  Error failed(const char* call, int error_number) const;

  const std::string name_, path_;  // as the user wrote it; absolute, so that chdir() does not matter
  const FileCalls& calls_;
  FdPool& pool_;
  FileFingerprint fingerprint_;
  mutable std::atomic<bool> was_touched_{false};
};

}  // namespace headrace
