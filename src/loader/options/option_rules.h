// Which options of a loader contradict each other: each rule, and its text, once for C++, Python, run files and the
// command line.
#pragma once

#include <headrace/loader.h>

#include <cstdint>
#include <limits>

#include "assembly/sample_source.h"
#include "base/result.h"

namespace headrace {

inline constexpr std::uint64_t kMostBatchRows = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::uint32_t kMostLanes = 1 << 16;
inline constexpr std::uint64_t kMostLookahead = 1 << 16;  ///< Steps of a token budget that are planned together.

/// Check options against each other, before any data set is known. Errors: kInvalidArgument, with what to do.
Status check_options(const LoaderOptions& options);

/// Check options against samples that are made of rows. Errors: kUnsupported, which names the option and the samples.
Status check_samples(const SampleSource& source, const LoaderOptions& options);

}  // namespace headrace
