// A cache directory: decoded rows as .npy files that NumPy reads, and a JSON manifest that says of what.
//
//   cache/<name>-<key>/manifest.json, <field>.npy …, crc32c.npy     whole, and never written again
//   cache/<name>-<key>.building/…                                   being filled, by any number of processes
//
// The second becomes the first by one rename, when every block is in place and on disk: a killed build leaves a valid
// cache or none. Directories are made with mode 0700.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cache/row_store.h"
#include "storage/fingerprint.h"

namespace headrace {

/// A file that the rows came from.
struct CacheSource {
  std::string path;
  FileFingerprint fingerprint;
  std::uint64_t rows = 0;  ///< 0: it has more fields of the rows of the source before it.
};

/// What a cache must have been made of to be used.
struct CacheOrigin {
  std::vector<CacheSource> sources;
  std::string detail = {};  ///< Whatever else decides which rows there are (a selection); part of the key.
};

struct CacheOpened {
  std::shared_ptr<RowStore> store;
  /// What was found and not used, and why: "…-3f2a: made from other files (…)"; or used, although another user made it.
  std::vector<std::string> notes;
};

/// Open the cache of these rows in `directory`: a whole one, or one that is being built, by this process and others.
/// The directory is made if need be. Errors: kWriteFailed if it cannot be written or has no room for the data, naming
/// what is missing; kPermission; kUnsupported for a field that .npy cannot hold.
Result<CacheOpened> open_cache_directory(const std::string& directory, const CacheOrigin& origin, RowLayout layout);

/// Find the whole cache of these rows in `directory`; its store is null if there is none that could be used. Makes
/// none; where sources were touched and are unchanged, the cache remembers that.
CacheOpened find_whole_cache(const std::string& directory, const CacheOrigin& origin, RowLayout layout);

/// One cache found in a directory.
struct CacheEntry {
  enum class State : std::uint8_t { kValid, kBuilding, kAbandoned, kStale, kDamaged };
  std::string name;  ///< Name of its folder.
  State state = State::kValid;
  std::string note;  ///< Why it is not valid.
  std::uint64_t bytes = 0, rows = 0;
  std::vector<std::string> fields, sources;
};
std::string_view to_string(CacheEntry::State state);

/// Return the caches in a directory, by name; kStale where a source has changed or is gone. Reads manifests only.
Result<std::vector<CacheEntry>> list_caches(const std::string& directory);
/// Read one cache whole and compare it with its checksums. `progress(done, total)` may be empty; false stops.
/// Errors: none for damage: that is kDamaged, with file, block and bytes in the note.
Result<CacheEntry> verify_cache(const std::string& directory, const std::string& name,
                                const std::function<bool(std::uint64_t, std::uint64_t)>& progress);
/// Delete one cache. Errors: kNotFound (lists what there is); kInvalidArgument if a process is filling it.
Status remove_cache(const std::string& directory, const std::string& name);

}  // namespace headrace
