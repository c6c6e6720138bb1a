// What a figure was measured on: the machine, and how much of the files the page cache held.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/json.h"

namespace headrace {

/// Return the processor, the cores this process may use, the memory and the kernel; {"cpu", "cores", "memory_bytes",
/// "system"}.
Json machine_json();
/// Return the same as a line: "AMD EPYC, 2 cores, 23.5 GiB, Linux 6.1".
std::string machine_text(const Json& machine);

/// Bytes of files, and how many of them lie in the page cache.
struct PageCache {
  std::uint64_t files = 0, bytes = 0;
  std::uint64_t looked_at_bytes = 0, resident_bytes = 0;  ///< Bytes of at most 64 files.
  bool known = false;                                     ///< False where the system does not tell.
  [[nodiscard]] double share() const {
    return looked_at_bytes == 0 ? 0 : static_cast<double>(resident_bytes) / static_cast<double>(looked_at_bytes);
  }
};
/// Ask the system; reads nothing. Files that cannot be opened are left out.
PageCache look_into_page_cache(const std::vector<std::string>& paths);
/// Return {"files", "bytes", "resident_share" (null: not known)}.
Json page_cache_json(const PageCache& cache);

}  // namespace headrace
