// FileLists: the files that a data set's fields come from, its own and those beside them ("FILES::PATH").
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "dataset/files/dataset_index.h"
#include "format/format_reader.h"

namespace headrace {

/// For one opening of one data set: lists of as many files, number 0 the data set's own. Threads: open() and learn()
/// any, one at a time for each file; all else alone.
class FileLists {
 public:
  /// \param beside  As OpenOptions::companion_files.
  FileLists(std::vector<std::string> own, std::map<std::string, std::vector<std::string>> beside,
            std::optional<IndexStore> store);

  /// Add the files that FILES of a field stands for. \return The number of their list, the same for the same files.
  /// Errors: those of expand_paths(); kInvalidArgument  they are not as many as the data set's own.
  Result<std::uint32_t> add(const std::string& files);

  /// Return the reader of a file. A first file stays open. Errors: as DatasetIndex::open().
  Result<std::shared_ptr<const FormatReader>> open(std::uint32_t list, std::size_t file);
  /// Take note of what was learnt of a file. \param reader  What open() returned. \param arrays  Those opened of it.
  void learn(std::uint32_t list, std::size_t file, const FormatReader& reader,
             std::span<const std::shared_ptr<ArrayReader>> arrays);
  /// Keep what is new for the next time, of each list for itself.
  void save() const;

  [[nodiscard]] const std::vector<std::string>& paths(std::uint32_t list) const { return lists_[list].paths; }
  [[nodiscard]] std::size_t num_files() const { return lists_[0].paths.size(); }
  [[nodiscard]] std::uint32_t num_lists() const { return static_cast<std::uint32_t>(lists_.size()); }

 private:
  struct List {
    List(std::vector<std::string> files, std::optional<IndexStore> store)
        : paths(std::move(files)), index(paths, std::move(store)) {}
    std::vector<std::string> paths;
    DatasetIndex index;  // refers to paths
    std::shared_ptr<const FormatReader> first;
  };

  std::deque<List> lists_;  // whose elements stay where they are
  std::map<std::string, std::vector<std::string>> beside_;
  std::optional<IndexStore> store_;
};

/// Divide "FILES::PATH". nullopt: there is no "::" in it.
std::optional<std::pair<std::string, std::string>> divide_path(const std::string& text);

}  // namespace headrace
