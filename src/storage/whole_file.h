// Small files that are read as a whole: run files, notes of unfinished work, baselines.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace headrace {

/// Return all bytes of a regular file. Never waits for a writer, as reading a FIFO would.
/// Errors: those of FileSystem::open(); kInvalidArgument  it has more than `most_bytes`.
Result<std::string> read_whole_file(const std::string& path, std::uint64_t most_bytes);

}  // namespace headrace
