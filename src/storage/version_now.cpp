#include "storage/version_now.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/random/philox.h"
#include "base/threads/parallel.h"
#include "storage/file_system.h"

namespace headrace {
namespace {

constexpr std::size_t kMostThreads = 16;     // storage that answers late is asked by many at once
constexpr std::size_t kFilesOfAThread = 40;  // a local look takes a microsecond or two, a thread some 30
constexpr std::size_t kStretch = 20;

/// A file in a directory.
struct Entry {
  std::size_t path;  // number of the directory's
  std::string name;
  std::uint64_t digest = 0;
  std::int64_t mtime_ns = 0, ctime_ns = 0;
};

std::uint64_t digest_of(std::string_view name, const FileFingerprint& file) {
  RandomKey key = RandomKey::of({name.size(), file.size_bytes, static_cast<std::uint64_t>(file.mtime_ns)});
  for (const char c : name) key = key.with(static_cast<unsigned char>(c));
  return key.low;
}

/// Call `look` with each number below `count`, by several threads where they are many.
template <class Look>
void look_at_each(std::size_t count, const Look& look) {
  std::atomic<std::size_t> next{0};
  const auto work = [&](int, const std::stop_token&) -> Status {
    for (std::size_t first; (first = next.fetch_add(kStretch)) < count;)
      for (std::size_t i = first; i < std::min(first + kStretch, count); ++i) look(i);
    return {};
  };
  const auto threads = static_cast<int>(std::clamp<std::size_t>(count / kFilesOfAThread, 1, kMostThreads));
  if (threads == 1 || !run_parallel(threads, "hr-versions", work).ok()) (void)work(0, {});  // or no threads to be had
}

}  // namespace

std::vector<std::optional<FileFingerprint>> versions_now(std::span<const std::string> paths) {
  std::vector<std::optional<FileFingerprint>> versions(paths.size());
  std::vector<std::vector<std::string>> names(paths.size());  // of directories
  look_at_each(paths.size(), [&](std::size_t p) {
    const FileSystem& files = FileSystem::of(paths[p]);
    const auto status = files.status(paths[p]);
    if (!status.ok() || (status->kind != PathKind::kFile && status->kind != PathKind::kDirectory)) return;
    versions[p] = status->fingerprint;
    if (status->kind == PathKind::kFile) return;
    versions[p]->size_bytes = 0;
    versions[p]->entries = 1;
    if (auto listed = files.list(paths[p]); listed.ok()) names[p] = std::move(*listed);
  });
  std::vector<Entry> entries;
  for (std::size_t p = 0; p < paths.size(); ++p)
    for (std::string& name : names[p]) entries.push_back({p, std::move(name)});
  look_at_each(entries.size(), [&](std::size_t i) {  // what is no file, or is gone, adds nothing
    Entry& entry = entries[i];
    const std::string path = paths[entry.path] + "/" + entry.name;
    const auto status = FileSystem::of(path).status(path);
    if (!status.ok() || status->kind != PathKind::kFile) return;
    entry.digest = digest_of(entry.name, status->fingerprint);
    entry.mtime_ns = status->fingerprint.mtime_ns;
    entry.ctime_ns = status->fingerprint.ctime_ns;
  });
  for (const Entry& entry : entries) {
    FileFingerprint& version = *versions[entry.path];
    version.entries += entry.digest;  // in whatever order they are listed
    version.mtime_ns = std::max(version.mtime_ns, entry.mtime_ns);
    version.ctime_ns = std::max(version.ctime_ns, entry.ctime_ns);
  }
  return versions;
}

std::optional<FileFingerprint> version_now(const std::string& path) {
  return versions_now({&path, 1}).front();
}

}  // namespace headrace
