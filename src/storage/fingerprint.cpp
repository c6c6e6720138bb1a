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

}  // namespace

FileFingerprint fingerprint_of(const struct stat& status) {
  return {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino),
          static_cast<std::uint64_t>(status.st_size),
          static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec};
}

std::optional<std::string> describe_change(const FileFingerprint& before, const FileFingerprint& now) {
  if (before == now) return std::nullopt;
  std::string text;
  if (before.device != now.device || before.inode != now.inode) {
    text = fmt::format("another file took its place (device {} inode {}, now device {} inode {})", before.device,
                       before.inode, now.device, now.inode);
    if (before.size_bytes != now.size_bytes)
      text += fmt::format(", {} bytes before, {} now", before.size_bytes, now.size_bytes);
    return text;
  }
  if (before.size_bytes != now.size_bytes)
    return fmt::format("it {} from {} to {} bytes", now.size_bytes > before.size_bytes ? "grew" : "shrank",
                       before.size_bytes, now.size_bytes);
  return fmt::format("it was written to (modified {}, before {})", time_text(now.mtime_ns), time_text(before.mtime_ns));
}

}  // namespace headrace
