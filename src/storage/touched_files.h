// Files that were touched while they were in use: another inode or time of change, and the same size and date.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headrace {

/// A file that was touched, and how.
struct TouchedFile {
  std::string name;  ///< As it was opened.
  std::string text;  ///< A sentence.
};

/// Take note of one; the process keeps 1000 at most. Threads: any.
void note_touched(const std::string& name, const std::string& change);
/// Return how many there are: costs an atomic load.
std::uint64_t num_touched();
/// Return those from number `first` on, in the order in which they were noted. Threads: any.
std::vector<TouchedFile> touched_since(std::uint64_t first);

}  // namespace headrace
