// What lies in a cache directory: to look after it by hand.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "cache/directory/building_cache.h"
#include "cache/directory/cache_directory.h"
#include "cache/directory/cache_manifest.h"
#include "cache/directory/cache_match.h"
#include "cache/directory/cache_name.h"
#include "cache/directory/folder.h"
#include "cache/directory/source_versions.h"
#include "cache/directory/whole_cache.h"
#include "cache/row_layout.h"

namespace headrace {
namespace {

using State = CacheEntry::State;

std::uint64_t bytes_on_disk(const Folder& folder) {
  std::uint64_t bytes = 0;
  const Result<std::vector<std::string>> names = folder.names();
  if (!names.ok()) return 0;
  for (const std::string& name : *names) {
    struct stat status {};
    if (::fstatat(folder.fd(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
      bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  return bytes;
}

/// Why a source is not what it was; empty if it is. One that was touched alone is compared when the cache is used.
std::string stale_note(const CacheSource& source, const std::optional<FileFingerprint>& now) {
  if (!now) return fmt::format("{} is gone, or cannot be seen", source.path);
  if (change_of(source, *now) != FileChange::kChanged) return "";
  return fmt::format("{} changed: {}", source.path, *change_text(source, *now));
}

void describe_building(const Folder& folder, CacheEntry& entry) {
  Descriptor held;
  const Result<bool> alone = lock_alone(folder, held);
  entry.state = alone.ok() && !*alone ? State::kBuilding : State::kAbandoned;
  entry.note = entry.state == State::kBuilding
                   ? "a process is filling it"
                   : "no process is filling it: the next run over these rows goes on with it";
  entry.bytes = bytes_on_disk(folder);
}

void describe_whole(const WholeCache& cache, CacheEntry& entry) {
  entry.bytes = cache.size_bytes();
  entry.rows = cache.manifest.rows;
  for (const StoredColumn& field : cache.manifest.layout.fields) entry.fields.push_back(field.name);
  const auto versions = versions_of(cache.manifest.sources);
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const CacheSource& source = cache.manifest.sources[i];
    entry.sources.push_back(source.path);
    if (!entry.note.empty()) continue;
    entry.note = stale_note(source, versions[i]);
    if (!entry.note.empty()) entry.state = State::kStale;
  }
}

/// The entry of one folder; `cache` gets it open if it is whole.
CacheEntry describe(const Folder& directory, const std::string& name, std::optional<WholeCache>* cache = nullptr) {
  CacheEntry entry;
  entry.name = name;
  CacheName parts;
  parse_cache_name(name, parts);
  Result<Folder> folder = directory.open_child(name);
  if (!folder.ok()) {
    entry.state = State::kDamaged;
    entry.note = folder.error().what();
    return entry;
  }
  if (parts.building) {
    describe_building(*folder, entry);
    return entry;
  }
  Result<WholeCache> whole = WholeCache::open(directory, name);
  if (!whole.ok()) {
    entry.state = State::kDamaged;
    entry.note = whole.error().what();
    entry.bytes = bytes_on_disk(*folder);
    return entry;
  }
  describe_whole(*whole, entry);
  if (cache != nullptr) *cache = std::move(*whole);
  return entry;
}

/// Names of the folders that are caches, sorted.
Result<std::vector<std::string>> cache_names(const Folder& directory) {
  HEADRACE_ASSIGN(std::vector<std::string> names, directory.names());
  std::erase_if(names, [&](const std::string& name) {
    CacheName parts;
    struct stat status {};
    return !parse_cache_name(name, parts) ||
           ::fstatat(directory.fd(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(status.st_mode);
  });
  return names;
}

Status check_name(const Folder& directory, const std::string& name) {
  HEADRACE_ASSIGN(const std::vector<std::string> names, cache_names(directory));
  if (std::ranges::find(names, name) != names.end()) return {};
  std::string there;
  for (const std::string& other : names) there += (there.empty() ? "" : ", ") + other;
  return Error(ErrorCode::kNotFound, fmt::format("there is no cache '{}'", name))
      .with_file(directory.path())
      .with_stage("cache")
      .with_hint(there.empty() ? "There are none." : fmt::format("There are: {}.", there));
}

}  // namespace

std::string_view to_string(CacheEntry::State state) {
  switch (state) {
    case State::kValid:
      return "valid";
    case State::kBuilding:
      return "building";
    case State::kAbandoned:
      return "abandoned";
    case State::kStale:
      return "stale";
    case State::kDamaged:
      return "damaged";
  }
  return "damaged";
}

Result<std::vector<CacheEntry>> list_caches(const std::string& directory) {
  HEADRACE_ASSIGN(const Folder folder, Folder::open(directory));
  HEADRACE_ASSIGN(const std::vector<std::string> names, cache_names(folder));
  std::vector<CacheEntry> entries;
  for (const std::string& name : names) entries.push_back(describe(folder, name));
  return entries;
}

Result<CacheEntry> verify_cache(const std::string& directory, const std::string& name,
                                const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
  HEADRACE_ASSIGN(const Folder folder, Folder::open(directory));
  HEADRACE_TRY(check_name(folder, name));
  std::optional<WholeCache> cache;
  CacheEntry entry = describe(folder, name, &cache);
  if (!cache) return entry;
  const RowLayout& layout = cache->manifest.layout;
  std::uint64_t done_bytes = 0, damaged_blocks = 0;
  std::string first;
  for (std::size_t field = 0; field < layout.fields.size(); ++field) {
    for (std::uint64_t block = 0; block < layout.num_blocks(); ++block) {
      if (const Status status = cache->check(field, block); !status.ok() && damaged_blocks++ == 0)
        first = status.error().what();
      done_bytes += block_bytes(layout, field, block).size;
      if (progress && !progress(done_bytes, layout.data_bytes()))
        return Error(ErrorCode::kCancelled, "stopped").with_file(cache->folder.path()).with_stage("cache");
    }
  }
  if (damaged_blocks != 0) {
    entry.state = State::kDamaged;
    entry.note = fmt::format("{} blocks of fields are damaged, the first: {}", damaged_blocks, first);
  }
  return entry;
}

Status remove_cache(const std::string& directory, const std::string& name) {
  HEADRACE_ASSIGN(const Folder folder, Folder::open(directory));
  HEADRACE_TRY(check_name(folder, name));
  CacheName parts;
  parse_cache_name(name, parts);
  Descriptor held;
  if (parts.building) {
    HEADRACE_ASSIGN(const Folder child, folder.open_child(name));
    const Result<bool> alone = lock_alone(child, held);
    if (alone.ok() && !*alone)
      return Error(ErrorCode::kInvalidArgument, "a process is filling it")
          .with_file(folder.path_of(name))
          .with_stage("cache")
          .with_hint("End the process first.");
  }
  HEADRACE_TRY(remove_cache_folder(folder, name));
  return folder.sync();
}

}  // namespace headrace
