#include "format/page_journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/checksum/crc32c.h"
#include "storage/whole_file.h"

namespace headrace {
namespace {

constexpr std::string_view kMagic = "HRPAGES1";
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

void put(std::string& out, std::uint64_t number) {
  for (int i = 0; i < 8; ++i) out += static_cast<char>(number >> (8 * i) & 0xFF);
}

/// Numbers and bytes from the front; `ok` is false once there are too few.
struct Parser {
  std::string_view left;
  bool ok = true;
  std::string_view take(std::uint64_t size) {
    if (!ok || size > left.size()) return ok = false, std::string_view{};
    const std::string_view out = left.substr(0, size);
    left.remove_prefix(size);
    return out;
  }
  std::uint64_t number() {
    const std::string_view bytes = take(8);
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      out |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    return out;
  }
};

/// \return 0, or errno.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return ::fsync(fd) == 0 ? 0 : errno;
}

}  // namespace

void sync_directory(const std::string& directory) {
  const int fd = ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

Status write_journal(const std::string& path, const PageJournal& journal) {
  std::string bytes(kMagic);
  put(bytes, journal.file_size);
  put(bytes, journal.state.size());
  bytes += journal.state;
  put(bytes, journal.pages.size());
  for (const auto& [at, page] : journal.pages) {
    put(bytes, at);
    bytes.append(reinterpret_cast<const char*>(page.data()), page.size());
  }
  put(bytes, crc32c(std::as_bytes(std::span(bytes))));
  const std::string fresh = path + ".new";
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return write_failure(fresh, "writing the journal", errno);
  int failure = write_all(fd, bytes);
  if (::close(fd) != 0 && failure == 0) failure = errno;
  if (failure == 0 && std::rename(fresh.c_str(), path.c_str()) != 0) failure = errno;
  if (failure == 0) {  // the pages that follow must not be older than it
    sync_directory(std::filesystem::path(path).parent_path().string());
    return {};
  }
  ::unlink(fresh.c_str());
  return write_failure(path, "writing the journal", failure);
}

Result<PageJournal> read_journal(const std::string& path) {
  HEADRACE_ASSIGN(const std::string bytes, read_whole_file(path, kMostBytes));
  Parser parser{bytes};
  PageJournal journal;
  const bool ours = parser.take(kMagic.size()) == kMagic;
  journal.file_size = parser.number();
  journal.state = parser.take(parser.number());
  const std::uint64_t pages = parser.number();
  for (std::uint64_t i = 0; i < pages && parser.ok; ++i) {
    const std::uint64_t at = parser.number();
    const std::string_view page = parser.take(kFilePageBytes);
    const auto* const data = reinterpret_cast<const std::byte*>(page.data());
    journal.pages.emplace(at, std::vector<std::byte>(data, data + page.size()));
  }
  const std::size_t covered = bytes.size() - parser.left.size();
  const std::uint64_t sum = parser.number();
  if (!ours || !parser.ok || !parser.left.empty() || sum != crc32c(std::as_bytes(std::span(bytes).first(covered))))
    return Error(ErrorCode::kCorruptData, fmt::format("its {} bytes are not a complete journal", bytes.size()))
        .with_file(path)
        .with_hint("Delete it and the unfinished files beside it, and begin again.");
  return journal;
}

Error write_failure(const std::string& file, const std::string& doing, int number) {
  const ErrorCode code = number == EACCES || number == EPERM || number == EROFS ? ErrorCode::kPermission
                         : number == ENOENT || number == ENOTDIR                ? ErrorCode::kNotFound
                                                                                : ErrorCode::kWriteFailed;
  Error error(code, fmt::format("{} failed: {}", doing, std::strerror(number)));
  error.with_file(file).with_stage("write");
  if (number == ENOSPC || number == EDQUOT)
    error.with_hint("Free some space and run the same command again: it goes on where it stopped.");
  if (number == EFBIG)
    error.with_hint(
        "Raise the limit on the size of files (ulimit -f), or write to another file system; then run the "
        "same command again: it goes on where it stopped.");
  if (code == ErrorCode::kPermission) error.with_hint("Choose a directory that you may write to.");
  return error;
}

}  // namespace headrace
