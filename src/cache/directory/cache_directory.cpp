#include "cache/directory/cache_directory.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>

#include "cache/directory/building_cache.h"
#include "cache/directory/cache_manifest.h"
#include "cache/directory/cache_match.h"
#include "cache/directory/cache_name.h"
#include "cache/directory/folder.h"
#include "cache/directory/whole_cache.h"
#include "cache/row_layout.h"
#include "format/npy/npy_header.h"

namespace headrace {
namespace {

constexpr std::size_t kMostNotes = 8, kMostHeaderBytes = 60000, kMostDimensions = 32;

Error refuse(ErrorCode code, const std::string& directory, std::string what) {
  return Error(code, std::move(what)).with_file(directory).with_stage("cache");
}

Status check_npy_can_hold(const RowLayout& layout) {
  for (const StoredColumn& field : layout.fields)
    if (field.shape.size() + 1 > kMostDimensions || npy_header(field, layout.rows()).size() > kMostHeaderBytes)
      return Error(ErrorCode::kUnsupported,
                   fmt::format("an array of {} dimensions cannot be kept as .npy", field.shape.size() + 1))
          .with_field(field.name)
          .with_stage("cache");
  return {};
}

/// A manifest that could not be read again must not be written after hours of work.
Status check_manifest_size(const CacheOrigin& origin, const RowLayout& layout) {
  std::uint64_t bytes = 4096;
  for (const CacheSource& source : origin.sources) bytes += 200 + 6 * source.path.size();
  for (const StoredColumn& field : layout.fields)
    bytes += 500 + 6 * (field.name.size() + field.path.size()) + 25 * field.shape.size();
  if (bytes <= CacheManifest::kMostBytes) return {};
  return Error(ErrorCode::kUnsupported,
               fmt::format("{} files are more than a cache's manifest can name", origin.sources.size()))
      .with_stage("cache");
}

/// True if a user could give this one other rows without any cache: they are this user, root, or own all of the data.
bool decides_on_data(uid_t user, const CacheOrigin& origin) {
  if (user == ::geteuid() || user == 0) return true;
  return !origin.sources.empty() && std::ranges::all_of(origin.sources, [&](const CacheSource& source) {
    struct stat status {};
    return ::stat(source.path.c_str(), &status) == 0 && status.st_uid == user;
  });
}

/// In a folder of another user into which everybody may write, everything may be exchanged at any time. Where everybody
/// may make folders (/tmp), any user can have made this one first, under the name that others will look for.
Status check_directory(const Folder& directory, const CacheOrigin& origin) {
  const struct stat status = directory.status();
  if (decides_on_data(status.st_uid, origin)) return {};
  struct stat above {};
  std::string why;
  if ((status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0)
    why = fmt::format("every user may write to it (mode {:o})", status.st_mode & 07777);
  else if (::fstatat(directory.fd(), "..", &above, 0) == 0 && (above.st_mode & S_IWOTH) != 0)
    why = "every user may create folders in its parent folder";
  if (why.empty()) return {};
  return refuse(ErrorCode::kPermission, directory.path(),
                fmt::format("it belongs to user {}, and {}", status.st_uid, why))
      .with_hint("Name a folder of your own.");
}

/// Whose rows they are that a cache gives, where that is not plain.
void note_owner(const WholeCache& cache, const CachePlan& plan, std::vector<std::string>& notes) {
  const uid_t owner = cache.folder.status().st_uid;
  if (!decides_on_data(owner, plan.origin))
    notes.push_back(fmt::format("{}: user {} made this cache, and its rows are used as they are", plan.name, owner));
}

/// The other caches of files of that name, and why they are of no use here. Those of other fields are in nothing's way:
/// loaders of different fields share a directory.
void note_others(const Folder& directory, const CachePlan& plan, std::vector<std::string>& notes) {
  const Result<std::vector<std::string>> names = directory.names();
  if (!names.ok()) return;
  CacheName own;
  parse_cache_name(plan.name, own);
  for (const std::string& name : *names) {
    CacheName parts;
    if (notes.size() >= kMostNotes) return;
    if (!parse_cache_name(name, parts) || parts.building || parts.stem != own.stem || parts.key == own.key) continue;
    const Result<WholeCache> other = WholeCache::open(directory, name);
    if (!other.ok())
      notes.push_back(fmt::format("{}: not used: {}", name, other.error().what()));
    else if (!holds_fields(other->manifest, plan.layout))
      continue;
    else if (const auto why = describe_difference(other->manifest, plan.origin, plan.layout))
      notes.push_back(fmt::format("{}: not used: {}", name, *why));
  }
}

/// chdir() does not matter from here on.
std::string absolute_path(const std::string& path) {
  std::error_code ec;
  const auto full = std::filesystem::absolute(path, ec);
  return ec ? path : full.string();
}

CachePlan plan_of(const CacheOrigin& origin, RowLayout layout) {
  CachePlan plan{"", cache_key(origin, layout), touch_key(origin), origin, std::move(layout)};
  plan.name = cache_name(origin, plan.key);
  for (CacheSource& source : plan.origin.sources) source.path = absolute_path(source.path);
  return plan;
}

}  // namespace

Result<CacheOpened> open_cache_directory(const std::string& directory, const CacheOrigin& origin, RowLayout layout) {
  if (directory.empty())
    return refuse(ErrorCode::kInvalidArgument, directory, "a folder is expected, not an empty name");
  HEADRACE_TRY(check_row_layout(layout));
  HEADRACE_TRY(check_npy_can_hold(layout));
  HEADRACE_TRY(check_manifest_size(origin, layout));
  const CachePlan plan = plan_of(origin, std::move(layout));
  HEADRACE_ASSIGN(const Folder folder, Folder::make(absolute_path(directory)));
  HEADRACE_TRY(check_directory(folder, plan.origin));

  CacheOpened opened;
  for (int tries = 0; tries < 2; ++tries) {
    opened.notes.clear();
    Result<WholeCache> whole = WholeCache::open(folder, plan.name);
    std::string why;
    if (whole.ok()) {
      const auto difference = difference_of(*whole, plan, opened.notes);
      if (!difference) {
        note_owner(*whole, plan, opened.notes);
        HEADRACE_ASSIGN(opened.store, map_whole_cache(std::move(*whole)));
        return opened;
      }
      why = *difference;
    } else if (whole.error().code() != ErrorCode::kNotFound || folder.open_child(plan.name).ok()) {
      why = whole.error().what();
    }
    if (!why.empty()) opened.notes.push_back(fmt::format("{}: not used: {}", plan.name, why));
    HEADRACE_ASSIGN(opened.store, open_building_cache(folder, plan, opened.notes));
    if (!opened.store) continue;  // whole by now
    note_others(folder, plan, opened.notes);
    return opened;
  }
  return refuse(ErrorCode::kWriteFailed, folder.path_of(plan.name),
                "the cache was removed while it was being opened, several times")
      .with_hint("Look for another process that removes caches.");
}

CacheOpened find_whole_cache(const std::string& directory, const CacheOrigin& origin, RowLayout layout) {
  if (!check_row_layout(layout).ok() || !check_npy_can_hold(layout).ok()) return {};
  const Result<Folder> folder = Folder::open(absolute_path(directory));
  if (!folder.ok() || !check_directory(*folder, origin).ok()) return {};
  const CachePlan plan = plan_of(origin, std::move(layout));
  Result<WholeCache> whole = WholeCache::open(*folder, plan.name);
  CacheOpened found;
  if (!whole.ok() || difference_of(*whole, plan, found.notes)) return {};
  note_owner(*whole, plan, found.notes);
  auto store = map_whole_cache(std::move(*whole));
  if (!store.ok()) return {};
  found.store = std::move(*store);
  return found;
}

}  // namespace headrace
