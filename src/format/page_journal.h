// The journal of a file that is being written: pages that have yet to reach it, and what the writer wants to know
// again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace headrace {

inline constexpr std::uint64_t kFilePageBytes = 4096;
/// Bytes of a file by their offset, a multiple of kFilePageBytes.
using FilePages = std::map<std::uint64_t, std::vector<std::byte>>;

struct PageJournal {
  std::string state;            ///< The writer's own words.
  std::uint64_t file_size = 0;  ///< Size of the file once the pages are in it.
  FilePages pages;
};

/// Replace the journal at `path`: the old one, or the whole new one, is there after a crash at any time.
/// Errors: kWriteFailed, kPermission. Blocks: until it is on the disk.
Status write_journal(const std::string& path, const PageJournal& journal);

/// Errors: kNotFound; kReadFailed; kCorruptData  it is damaged, or no journal.
Result<PageJournal> read_journal(const std::string& path);

/// Wait until a directory's entries are on the disk. Failures are not told: not every file system can.
void sync_directory(const std::string& directory);

/// Return the error for a system call that failed while writing `file`: "`doing` failed: No space left on device".
Error write_failure(const std::string& file, const std::string& doing, int number);

}  // namespace headrace
