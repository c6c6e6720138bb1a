// StatsStore: what stats() found of a data set's files, kept in the user's cache directory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assembly/source.h"
#include "dataset/moments.h"
#include "storage/index_store.h"

namespace headrace {

/// Results of one data set, each under a text that says of what. They are valid while every file that the data set
/// reads is the one that it was. Threads: one at a time.
class StatsStore {
 public:
  /// \param store  nullopt: nothing is remembered.
  StatsStore(const Source& source, std::optional<IndexStore> store);

  /// Return what was kept under `key`; nullopt: nothing, or a file has changed since.
  [[nodiscard]] std::optional<std::vector<FeatureMoments>> find(const std::string& key) const;
  /// Keep it. What cannot be kept, is not: of files that have just been written, or where nothing can be written.
  void keep(const std::string& key, const std::vector<FeatureMoments>& moments) const;

 private:
  /// Return the files and what was kept of them; without facts where it is not valid. Empty: nothing can be kept.
  [[nodiscard]] std::vector<IndexEntry> load() const;

  std::optional<IndexStore> store_;
  std::vector<IndexEntry> files_;  // that the data set reads, as it opened them
};

}  // namespace headrace
