// Bytes of the files that a cache was made of, to tell whether a file that was touched is still the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cache/directory/cache_directory.h"

namespace headrace {

/// Most bytes that are read of all sources.
inline constexpr std::uint64_t kSampleBytes = std::uint64_t{64} << 20;

/// Return a checksum of bytes of all sources, the files in directories among them: of all bytes up to kSampleBytes,
/// else of 64 KiB in 1024 places that lie evenly over them. Empty: some could not be read. Blocks: reads them, by up to
/// 16 threads.
std::string sample_of(const std::vector<CacheSource>& sources);

}  // namespace headrace
