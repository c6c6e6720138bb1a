#include "storage/fingerprint.h"

#include <fmt/format.h>

#include <ctime>

namespace headrace {
namespace {

std::string time_text(std::int64_t ns) {
  const std::time_t seconds = static_cast<std::time_t>(ns / 1'000'000'000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:09} UTC", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, ns % 1'000'000'000);
}

std::int64_t nanoseconds(const struct timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

FileFingerprint fingerprint_of(const struct stat& status) {
  return {static_cast<std::uint64_t>(status.st_dev),
          static_cast<std::uint64_t>(status.st_ino),
          static_cast<std::uint64_t>(status.st_size),
          nanoseconds(status.st_mtim),
          nanoseconds(status.st_ctim),
          0};
}

FileChange change_between(const FileFingerprint& before, const FileFingerprint& now) {
  if (before == FileFingerprint{}) return FileChange::kNone;
  const bool entries = before.entries != 0 && now.entries != 0 && before.entries != now.entries;
  if (before.size_bytes != now.size_bytes || before.mtime_ns != now.mtime_ns || entries) return FileChange::kChanged;
  const bool inode = before.inode != 0 && now.inode != 0 && (before.inode != now.inode || before.device != now.device);
  const bool ctime = before.ctime_ns != 0 && now.ctime_ns != 0 && before.ctime_ns != now.ctime_ns;
  return inode || ctime ? FileChange::kTouched : FileChange::kNone;
}

std::optional<std::string> describe_change(const FileFingerprint& before, const FileFingerprint& now) {
  if (change_between(before, now) == FileChange::kNone) return std::nullopt;
  std::string text;
  const bool inode = before.inode != 0 && now.inode != 0 && (before.inode != now.inode || before.device != now.device);
  if (inode) {
    text = fmt::format("another file took its place (device {} inode {}, now device {} inode {})", before.device,
                       before.inode, now.device, now.inode);
    if (before.size_bytes != now.size_bytes)
      text += fmt::format(", {} bytes before, {} now", before.size_bytes, now.size_bytes);
    return text;
  }
  if (before.size_bytes != now.size_bytes)
    return fmt::format("it {} from {} to {} bytes", now.size_bytes > before.size_bytes ? "grew" : "shrank",
                       before.size_bytes, now.size_bytes);
  if (before.mtime_ns != now.mtime_ns)
    return fmt::format("it was written to (modified {}, before {})", time_text(now.mtime_ns),
                       time_text(before.mtime_ns));
  if (before.entries != 0 && now.entries != 0 && before.entries != now.entries) return "files in it were written to";
  return fmt::format("its inode changed, and neither its size nor its date (changed {}, before {})",
                     time_text(now.ctime_ns), time_text(before.ctime_ns));
}

}  // namespace headrace
