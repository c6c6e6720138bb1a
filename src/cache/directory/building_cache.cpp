#include "cache/directory/building_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <ctime>
#include <thread>

#include "cache/directory/build_files.h"
#include "cache/directory/building_store.h"
#include "cache/directory/cache_manifest.h"
#include "cache/directory/cache_match.h"
#include "cache/directory/cache_name.h"
#include "cache/directory/whole_cache.h"
#include "cache/filler.h"
#include "cache/name_hash.h"

namespace headrace {
namespace {

constexpr const char* kRemovedName = "manifest.json.removed";  // of a folder that is being removed
constexpr int kMostTries = 500, kMostDoubts = 20;
constexpr std::chrono::milliseconds kPause{10};
constexpr std::time_t kOldSeconds = 60;  // a folder that is being prepared holds its lock long before

enum class Locked : std::uint8_t { kAlone, kShared, kNo };

Result<Locked> lock(int fd, int how, const std::string& path) {
  int done = 0;
  do done = ::flock(fd, how | LOCK_NB);
  while (done != 0 && errno == EINTR);
  if (done == 0) return how == LOCK_EX ? Locked::kAlone : Locked::kShared;
  if (errno == EWOULDBLOCK) return Locked::kNo;
  return system_error("flock", errno, path, ErrorCode::kUnsupported)
      .with_hint("This file system has no locks: name a folder on another one.");
}

/// Opens folders of one name until it is clear what they are.
class Builder {
 public:
  Builder(const Folder& directory, const CachePlan& plan, std::string name)
      : directory_(directory), plan_(plan), name_(std::move(name)) {}

  enum class Found : std::uint8_t {
    kOpen,      ///< In `files`, with a shared lock.
    kNothing,   ///< No such folder.
    kTryAgain,  ///< It is just being renamed, removed or adopted.
    kNotOurs,   ///< Processes that cannot see this one, another user or another program hold it.
  };
  Result<Found> join();
  /// Prepare a folder and give it the name, unless another process was faster.
  Status create();

  BuildFiles files;
  std::string why_not;  ///< Reason for kNotOurs and kTryAgain.

 private:
  Result<Found> adopt();
  Result<Found> discard(const Error& why);
  /// What may be over in a moment, or else is not for this process.
  Found doubt(std::string why) {
    why_not = std::move(why);
    return ++doubts_ > kMostDoubts ? Found::kNotOurs : Found::kTryAgain;
  }

  const Folder& directory_;
  const CachePlan& plan_;
  const std::string name_;
  int doubts_ = 0;
};

Result<Builder::Found> Builder::join() {
  files = {};
  Result<Folder> folder = directory_.open_child(name_);
  if (!folder.ok()) {
    why_not = folder.error().what();
    return folder.error().code() == ErrorCode::kNotFound ? Found::kNothing : Found::kNotOurs;
  }
  files.folder = std::move(*folder);
  if (files.folder.status().st_uid != ::geteuid()) {
    why_not = fmt::format("it belongs to user {}", files.folder.status().st_uid);
    return Found::kNotOurs;
  }
  Result<Descriptor> lock_file = files.folder.open_file(kLockName, O_RDWR);
  if (!lock_file.ok()) {
    const Result<std::vector<std::string>> inside = files.folder.names();
    if (inside.ok() && inside->empty()) return Found::kNothing;  // create() takes its place
    return doubt(lock_file.error().what());
  }
  files.lock = std::move(*lock_file);
  HEADRACE_ASSIGN(Locked locked, lock(files.lock.get(), LOCK_EX, files.folder.path()));
  if (locked == Locked::kAlone) return adopt();
  HEADRACE_ASSIGN(locked, lock(files.lock.get(), LOCK_SH, files.folder.path()));
  why_not = "another process has locked it";
  if (locked == Locked::kNo || !directory_.holds(name_, files.folder)) return Found::kTryAgain;
  if (const Status opened = files.open(plan_); !opened.ok()) return doubt(opened.error().what());
  if (files.builders().load() == pid_namespace_id()) return Found::kOpen;
  return doubt("processes of another host or container are filling it");
}

/// Go on with what a killed build left: no other process is there.
Result<Builder::Found> Builder::adopt() {
  if (!directory_.holds(name_, files.folder)) return Found::kTryAgain;
  if (const Status opened = files.open(plan_); !opened.ok()) return discard(opened.error());
  BlockStates(files.states(), plan_.layout.num_blocks()).adopt();
  files.builders() = pid_namespace_id();
  // Not atomic: another process may come between and adopt it once more. Nothing was taken yet.
  int done = 0;
  do done = ::flock(files.lock.get(), LOCK_SH);
  while (done != 0 && errno == EINTR);
  if (done != 0) return system_error("flock", errno, files.folder.path(), ErrorCode::kUnsupported);
  return directory_.holds(name_, files.folder) ? Found::kOpen : Found::kTryAgain;
}

Result<Builder::Found> Builder::discard(const Error& why) {
  const bool not_sane = why.code() == ErrorCode::kCorruptData || why.code() == ErrorCode::kNotFound;
  if (!not_sane) return why;
  const Status removed = remove_cache_folder(directory_, name_);
  return removed.ok() ? Found::kNothing : doubt(removed.error().what());
}

Status Builder::create() {
  std::string temporary;
  for (int n = 0;; ++n) {
    temporary = fmt::format("{}.{}-{}", name_, ::getpid(), n);
    if (::mkdirat(directory_.fd(), temporary.c_str(), 0700) == 0) break;
    if (errno != EEXIST) return system_error("mkdir", errno, directory_.path_of(temporary), ErrorCode::kWriteFailed);
  }
  const auto prepare = [&]() -> Status {
    HEADRACE_ASSIGN(const Folder folder, directory_.open_child(temporary));
    HEADRACE_ASSIGN(const Descriptor held, folder.open_file(kLockName, O_RDWR | O_CREAT | O_EXCL));
    HEADRACE_TRY(lock(held.get(), LOCK_SH, folder.path()));
    HEADRACE_TRY(BuildFiles::make(folder, plan_));
    if (::renameat(directory_.fd(), temporary.c_str(), directory_.fd(), name_.c_str()) == 0) return {};
    if (errno == EEXIST || errno == ENOTEMPTY) return remove_cache_folder(directory_, temporary);
    return system_error("rename", errno, folder.path(), ErrorCode::kWriteFailed);
  };
  Status status = prepare();
  if (!status.ok()) (void)remove_cache_folder(directory_, temporary).ok();
  return status;
}

/// What processes left behind that were killed while they prepared a folder.
void remove_leftovers(const Folder& directory, const CachePlan& plan) {
  const Result<std::vector<std::string>> names = directory.names();
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    CacheName parts;
    if (!name.starts_with(plan.name) || !parse_cache_name(name, parts) || !parts.preparing) continue;
    const Result<Folder> folder = directory.open_child(name);
    if (!folder.ok() || folder->status().st_mtim.tv_sec + kOldSeconds > std::time(nullptr)) continue;
    Descriptor held;
    const Result<bool> alone = lock_alone(*folder, held);
    if (alone.ok() ? *alone : alone.error().code() == ErrorCode::kNotFound)
      (void)remove_cache_folder(directory, name).ok();
  }
}

}  // namespace

Result<bool> lock_alone(const Folder& folder, Descriptor& held) {
  HEADRACE_ASSIGN(held, folder.open_file(kLockName, O_RDWR));
  HEADRACE_ASSIGN(const Locked locked, lock(held.get(), LOCK_EX, folder.path()));
  return locked == Locked::kAlone;
}

Result<std::shared_ptr<RowStore>> open_building_cache(const Folder& directory, const CachePlan& plan,
                                                      std::vector<std::string>& notes) {
  remove_leftovers(directory, plan);
  // Processes that cannot judge this one by its pid build a cache of their own: the first to be whole counts.
  const std::string own = fmt::format("{:08x}", name_hash(fmt::format("{} {}", pid_namespace_id(), ::geteuid())) >> 32);
  for (const std::string& name : {plan.name + ".building", plan.name + ".building-" + own}) {
    Builder builder(directory, plan, name);
    for (int tries = 0; tries < kMostTries; ++tries) {
      HEADRACE_ASSIGN(const Builder::Found found, builder.join());
      if (found == Builder::Found::kNotOurs) break;
      if (auto whole = WholeCache::open(directory, plan.name); whole.ok() && !difference_of(*whole, plan, notes)) {
        if (found == Builder::Found::kOpen && ::flock(builder.files.lock.get(), LOCK_EX | LOCK_NB) == 0)
          (void)remove_cache_folder(directory, name).ok();
        return std::shared_ptr<RowStore>();
      }
      if (found == Builder::Found::kOpen) {
        Result<Folder> parent = Folder::open(directory.path());
        if (!parent.ok()) return std::move(parent.error());
        auto store = std::make_shared<BuildingStore>(std::move(*parent), name, plan, std::move(builder.files));
        if (store->complete()) HEADRACE_TRY(store->finish());  // its last filler was killed before this step
        return std::shared_ptr<RowStore>(std::move(store));
      }
      if (found == Builder::Found::kTryAgain) {
        std::this_thread::sleep_for(kPause);
        continue;
      }
      HEADRACE_TRY(builder.create());
    }
    notes.push_back(fmt::format("{}: not used: {}", name, builder.why_not));
  }
  return Error(ErrorCode::kWriteFailed, "no folder for building a cache could be made or opened: " + notes.back())
      .with_file(directory.path())
      .with_stage("cache")
      .with_hint("Remove it with: headrace cache rm FOLDER NAME.");
}

Status remove_cache_folder(const Folder& directory, const std::string& name) {
  HEADRACE_ASSIGN(const Folder folder, directory.open_child(name));
  HEADRACE_ASSIGN(const std::vector<std::string> names, folder.names());
  // Nothing is removed before it is plain that all of it is a cache: the name alone proves nothing.
  const auto says_so = [](const std::string& file) {
    return file.starts_with(CacheManifest::kFileName) || file == kLockName || file == kStateName;
  };
  std::string others;
  bool is_cache = names.empty();
  for (const std::string& file : names) {
    is_cache = is_cache || says_so(file);
    if (!says_so(file) && !file.ends_with(".npy") &&
        !(file.ends_with(".tmp") && file.find(".npy.") != std::string::npos))
      others += (others.empty() ? "" : ", ") + file;
  }
  if (!others.empty() || !is_cache)
    return Error(ErrorCode::kWriteFailed, others.empty() ? "it has arrays, but no manifest of a cache"
                                                         : "it has files that do not belong to a cache: " + others)
        .with_file(folder.path())
        .with_stage("cache")
        .with_hint("Move them away, then remove the folder.");
  const auto remove = [&](const char* file) -> Status {
    if (::unlinkat(folder.fd(), file, 0) == 0 || errno == ENOENT) return {};
    return system_error("unlink", errno, folder.path_of(file), ErrorCode::kWriteFailed);
  };
  // Under another name no process takes the rest for a cache, and it still says so where removing is cut short.
  if (::renameat(folder.fd(), CacheManifest::kFileName, folder.fd(), kRemovedName) != 0 && errno != ENOENT)
    return system_error("rename", errno, folder.path_of(CacheManifest::kFileName), ErrorCode::kWriteFailed);
  for (const std::string& file : names)
    if (file != kLockName && file != kRemovedName) HEADRACE_TRY(remove(file.c_str()));
  HEADRACE_TRY(remove(kRemovedName));
  HEADRACE_TRY(remove(kLockName));
  if (::unlinkat(directory.fd(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
  return system_error("rmdir", errno, folder.path(), ErrorCode::kWriteFailed);
}

}  // namespace headrace
