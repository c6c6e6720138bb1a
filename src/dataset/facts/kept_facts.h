// KeptFacts: what was worked out of a data set's files, kept in the user's cache directory.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "assembly/source.h"
#include "storage/index_store.h"

namespace headrace {

/// Bytes of one data set, each under a text that says what they are. They are valid while every file that the data set
/// reads is the one that it was. Threads: one at a time.
class KeptFacts {
 public:
  /// Look at each file, those of chunks too. \param store  nullopt: nothing is remembered.
  KeptFacts(const Source& source, std::optional<IndexStore> store);

  /// Return what was kept under `key`; nullopt: nothing, or a file has changed since.
  [[nodiscard]] std::optional<std::string> find(const std::string& key) const;
  /// Keep it. What cannot be kept, is not: of files that have just been written, or where nothing can be written.
  void keep(const std::string& key, std::string bytes) const;

 private:
  using Facts = std::map<std::string, std::string>;
  /// Return the files as they are now.
  [[nodiscard]] std::vector<IndexEntry> files_now() const;
  /// Return the files and what was kept of them; without facts where it is not valid. Empty: nothing can be kept.
  [[nodiscard]] std::vector<IndexEntry> load() const;

  std::optional<IndexStore> store_;
  std::vector<IndexEntry> files_;  // that the data set reads, as they were when this was made; directories of chunks
  bool is_unchanged_ = true;       // since the data set was opened
};

}  // namespace headrace
