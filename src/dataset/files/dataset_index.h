// DatasetIndex: opens the files of a data set, from what the user's index store remembers of them where it can.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/format_reader.h"
#include "storage/index_store.h"

namespace headrace {

/// Return true if a file was written so long ago that its times and size tell it from whatever is written over it.
bool has_settled(const FileFingerprint& fingerprint);

/// For one opening of one data set. Threads: any, one at a time for each file; the constructor and save() alone.
class DatasetIndex {
 public:
  /// Load what is remembered of `files`, in the order of the data set. \param store  nullopt: remember nothing.
  DatasetIndex(const std::vector<std::string>& files, std::optional<IndexStore> store);

  /// Open a file: from the index if it is the file that was indexed, else by reading it.
  /// Errors: those of open_file(), and of looking at the file.
  Result<std::shared_ptr<FormatReader>> open(std::size_t file);
  /// Take note of what was learnt of a file that open() opened. \param arrays  Those that were opened of it.
  void learn(std::size_t file, const FormatReader& reader, std::span<const std::shared_ptr<ArrayReader>> arrays);
  /// Keep what is new for the next time. What cannot be written is not remembered: an index only saves time.
  void save() const;

  /// Return how many files were opened from the index.
  [[nodiscard]] std::size_t num_remembered() const { return num_remembered_; }

 private:
  const std::vector<std::string>& files_;
  std::optional<IndexStore> store_;
  std::vector<IndexEntry> entries_;  // one for each file; without facts where there are none
  std::atomic<std::size_t> num_remembered_{0};
  std::atomic<bool> changed_{false};
};

}  // namespace headrace
