#include "storage/version_now.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/parallel.h"
#include "base/philox.h"
#include "storage/file_system.h"

namespace headrace {
namespace {

constexpr std::size_t kMostThreads = 16;      // storage that answers late is asked by many at once
constexpr std::size_t kFilesOfAThread = 500;  // a local look takes a microsecond or two

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

/// Look at files, each thread at stretches of them. An entry that is no file, or is gone, adds nothing.
void look_at(std::span<const std::string> directories, std::vector<Entry>& entries) {
  std::atomic<std::size_t> next{0};
  const auto look = [&](int, const std::stop_token&) -> Status {
    for (std::size_t first; (first = next.fetch_add(kFilesOfAThread)) < entries.size();) {
      for (Entry& entry : std::span(entries).subspan(first, std::min(kFilesOfAThread, entries.size() - first))) {
        const std::string path = directories[entry.path] + "/" + entry.name;
        const auto status = FileSystem::of(path).status(path);
        if (!status.ok() || status->kind != PathKind::kFile) continue;
        entry.digest = digest_of(entry.name, status->fingerprint);
        entry.mtime_ns = status->fingerprint.mtime_ns;
        entry.ctime_ns = status->fingerprint.ctime_ns;
      }
    }
    return {};
  };
  const std::size_t threads = std::clamp<std::size_t>(entries.size() / kFilesOfAThread, 1, kMostThreads);
  if (!run_parallel(static_cast<int>(threads), "hr-versions", look).ok()) (void)look(0, {});  // no threads to be had
}

}  // namespace

std::vector<std::optional<FileFingerprint>> versions_now(std::span<const std::string> paths) {
  std::vector<std::optional<FileFingerprint>> versions(paths.size());
  std::vector<Entry> entries;
  for (std::size_t p = 0; p < paths.size(); ++p) {
    const FileSystem& files = FileSystem::of(paths[p]);
    const auto status = files.status(paths[p]);
    if (!status.ok() || (status->kind != PathKind::kFile && status->kind != PathKind::kDirectory)) continue;
    versions[p] = status->fingerprint;
    if (status->kind == PathKind::kFile) continue;
    versions[p]->size_bytes = 0;
    versions[p]->entries = 1;
    auto names = files.list(paths[p]);
    if (!names.ok()) continue;
    for (std::string& name : *names) entries.push_back({p, std::move(name)});
  }
  look_at(paths, entries);
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
