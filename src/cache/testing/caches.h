// A folder with source files and a cache directory, for tests.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/testing/temporary_folder.h"
#include "cache/directory/cache_directory.h"
#include "cache/testing/rows.h"

namespace headrace::testing_rows {

class CacheFolders {
 public:
  CacheFolders() { origin.sources = {source("train.h5", "one", 100)}; }

  CacheSource source(const std::string& name, const std::string& text, std::uint64_t rows) const {
    const std::string path = folder.write_text(name, text);
    struct stat status {};
    ::stat(path.c_str(), &status);
    return {path, fingerprint_of(status), rows};
  }
  [[nodiscard]] Result<CacheOpened> open() const { return open_cache_directory(directory, origin, layout); }
  [[nodiscard]] std::shared_ptr<RowStore> store() const { return open().value().store; }
  /// Name of the one entry of the cache directory.
  [[nodiscard]] std::string name() const {
    const auto entries = list_caches(directory).value();
    return entries.size() == 1 ? entries[0].name : "";
  }
  [[nodiscard]] std::string path(const std::string& file) const { return directory + "/" + name() + "/" + file; }

  TemporaryFolder folder;
  const std::string directory = folder.path("parent/cache");
  CacheOrigin origin;
  RowLayout layout = layout_of(100, 8);
};

inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// In place: the inode stays.
inline void write_text(const std::string& path, const std::string& text) {
  std::fstream out(path, std::ios::binary | std::ios::in | std::ios::out);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

/// True if every row can be read from the store and is right, block by block, as the callers read.
inline bool all_rows_are_right(RowStore& store) {
  for (std::uint64_t block = 0; block < store.layout().num_blocks(); ++block)
    if (store.look_up(block) != RowStore::Lookup::kReady || !store.check(block).ok() || !has_rows(store, block))
      return false;
  return true;
}

}  // namespace headrace::testing_rows
