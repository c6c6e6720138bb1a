// IndexStore: what opening learnt of the files of a data set, kept for the next time in the user's cache directory.
//
// One file a data set. It is written whole beside its name and renamed, so that a reader sees the old one or the new
// one. It is believed only if its owner, version, checksum and paths are right, and each file's part only while the
// file has the fingerprint it was written for: whatever is wrong is as if it were not there, and the files are opened
// anew.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "storage/fingerprint.h"

namespace headrace {

/// What is known of one file.
struct IndexEntry {
  std::string path;  ///< Absolute.
  FileFingerprint fingerprint;
  std::string facts;  ///< Bytes that the format wrote, and understands.
};

/// Threads: all members from any thread, and from several processes at once.
class IndexStore {
 public:
  /// Make a store in `directory`, which is made when something is saved.
  explicit IndexStore(std::string directory, std::uint64_t limit_bytes = kLimitBytes)
      : directory_(std::move(directory)), limit_bytes_(limit_bytes) {}

  /// Return the store of this user: in HEADRACE_CACHE if that is set, else in $XDG_CACHE_HOME/headrace, else in
  /// ~/.cache/headrace. nullopt if HEADRACE_CACHE is "off", or if there is no home.
  /// \param kind  What it keeps: a folder of its own there.
  static std::optional<IndexStore> of_user(const std::string& kind = "index");

  /// Return what was saved for exactly these files in this order; empty if there is nothing that can be trusted. The
  /// caller compares the fingerprints. \param paths  Absolute.
  [[nodiscard]] std::vector<IndexEntry> load(std::span<const std::string> paths) const;
  /// Keep `entries`, all of a data set's files in order, in place of what was saved for them. What was used longest ago
  /// goes if the store becomes larger than its limit.
  /// Errors: kWriteFailed, kPermission  the directory cannot be written, or is not this user's alone;
  /// kOutOfBudget  the entries alone are larger than the limit.
  Status save(std::span<const IndexEntry> entries) const;

  /// A data set in the store, for people.
  struct Listed {
    std::string name;   ///< For remove().
    std::string state;  ///< "valid", "stale" (a file changed), "damaged", "other version".
    std::uint64_t bytes = 0;
    std::vector<std::string> files;
  };
  /// Return what the store holds, by name. Errors: kReadFailed, kPermission.
  [[nodiscard]] Result<std::vector<Listed>> list() const;
  /// Delete one data set's index. Errors: kNotFound (says what there is), kPermission, kWriteFailed.
  Status remove(const std::string& name) const;

  [[nodiscard]] const std::string& directory() const { return directory_; }

 private:
  static constexpr std::uint64_t kLimitBytes = std::uint64_t{256} << 20;
  [[nodiscard]] std::string path_of(std::span<const std::string> paths) const;

  std::string directory_;
  std::uint64_t limit_bytes_;
};

}  // namespace headrace
