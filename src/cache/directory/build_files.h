// The files of a cache that is being built: made at full size, opened again, and put under their last names.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "cache/directory/building_cache.h"
#include "cache/directory/folder.h"
#include "cache/file_mapping.h"
#include "cache/mapped_rows.h"

namespace headrace {

/// Open files of a cache that is being built. Checksums of blocks lie beside their states, in memory that all processes
/// map: field by field, as in crc32c.npy.
struct BuildFiles {
  Folder folder;
  Descriptor lock;                   ///< Holds a shared lock.
  FileMapping state;                 ///< Header, BlockStates, checksums.
  std::vector<std::string> names;    ///< One a field, as the next ones.
  std::vector<std::string> headers;  ///< .npy headers.
  std::vector<Descriptor> data;
  MappedRows rows;  ///< Rows of `data`.

  /// Make all files in an empty folder, whose lock is held. Errors: kWriteFailed: there is no room for them.
  static Status make(const Folder& folder, const CachePlan& plan);
  /// Open what make() made. Errors: kCorruptData: it is not that.
  Status open(const CachePlan& plan);

  [[nodiscard]] std::byte* states() const;
  [[nodiscard]] std::atomic<std::uint32_t>* checksums(const RowLayout& layout) const;
  /// Return the pid namespace (filler.h) of the processes that build.
  [[nodiscard]] std::atomic<std::uint64_t>& builders() const;

  /// Write the manifest and the tables and make everything last. \param sample  sample_of() the sources. Errors:
  /// kWriteFailed.
  Status seal(const CachePlan& plan, const std::string& sample) const;
};

inline constexpr const char* kLockName = "lock";
inline constexpr const char* kStateName = "state";

}  // namespace headrace
