// A cache that is being built, by any number of processes of one host: data files of full size, and a file `state` that
// all of them map. They hold a shared lock on the file `lock`; a process that gets it alone knows that no other builds
// the cache, and takes over what a killed build left behind.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cache/directory/cache_directory.h"
#include "cache/directory/folder.h"

namespace headrace {

/// What is to be built.
struct CachePlan {
  std::string name;  ///< Name of the folder, when it is whole.
  std::uint64_t key = 0;
  std::uint64_t touched = 0;  ///< touch_key()
  CacheOrigin origin;
  RowLayout layout;
};

/// Join the processes that build this cache, go on with an interrupted build, or begin. Null if it turns out to be
/// whole by now. `notes` gets what was found and is not used. Errors: those of open_cache_directory().
Result<std::shared_ptr<RowStore>> open_building_cache(const Folder& directory, const CachePlan& plan,
                                                      std::vector<std::string>& notes);

/// Remove a folder with the files that a cache consists of. From the first moment it is no whole cache; a process that
/// is killed on the way leaves what a later call removes. Errors: kWriteFailed: it holds other files, or none that says
/// that it is a cache; nothing is removed then.
Status remove_cache_folder(const Folder& directory, const std::string& name);

/// Take the exclusive lock of a folder. \return False while others hold it. Errors: kNotFound: it has no lock file.
Result<bool> lock_alone(const Folder& folder, Descriptor& lock);

}  // namespace headrace
