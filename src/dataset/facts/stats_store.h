// StatsStore: what stats() found of a data set's files, kept in the user's cache directory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dataset/facts/kept_facts.h"
#include "dataset/facts/moments.h"

namespace headrace {

/// Results of one data set, each under a text that says of what. Threads: one at a time.
class StatsStore {
 public:
  /// \param store  nullopt: nothing is remembered.
  StatsStore(const Source& source, std::optional<IndexStore> store) : facts_(source, std::move(store)) {}
  /// Return what was kept under `key`; nullopt: nothing, or a file has changed since.
  [[nodiscard]] std::optional<std::vector<FeatureMoments>> find(const std::string& key) const;
  /// Keep it, as KeptFacts does.
  void keep(const std::string& key, const std::vector<FeatureMoments>& moments) const;

 private:
  KeptFacts facts_;
};

}  // namespace headrace
