// A cache that is whole: .npy files that are never written again, and their checksums.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "cache/directory/cache_manifest.h"
#include "cache/directory/folder.h"
#include "cache/row_store.h"

namespace headrace {

/// Its folder, its manifest and its open files. Names, sizes, headers and the table of checksums were compared with one
/// another; the rows were not read.
struct WholeCache {
  Folder folder;
  CacheManifest manifest;            ///< With block starts.
  std::vector<Descriptor> data;      ///< One a field.
  std::vector<std::uint32_t> table;  ///< CRC-32C of (field, block), blocks fastest.

  /// Errors: kCorruptData and others, naming the file and what is wrong with it; kPermission: it belongs to another
  /// user, neither root nor the owner of the cache directory.
  static Result<WholeCache> open(const Folder& directory, const std::string& name);

  [[nodiscard]] std::uint64_t size_bytes() const;
  /// Compare a block of a field with its checksum. Errors: kCorruptData with file, field, block and bytes; kReadFailed.
  [[nodiscard]] Status check(std::size_t field, std::uint64_t block) const;
};

/// Errors: those of mmap.
Result<std::shared_ptr<RowStore>> map_whole_cache(WholeCache cache);

/// Return true if the folder is this user's, root's, or that of the owner of the directory around it.
bool is_trusted(const Folder& directory, const Folder& folder);

}  // namespace headrace
