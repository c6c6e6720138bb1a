// How fast the files can be read: first from the disk, as far as this process can have it so, then from memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tools/inspect/block_sample.h"

namespace headrace {

struct ReadProbe {
  double cold_bytes_per_s = 0, warm_bytes_per_s = 0;  ///< All threads together; 0: nothing is read from files.
  std::uint64_t bytes = 0;                            ///< Bytes of the cold reads.
  std::uint64_t blocks = 0;                           ///< The first so many of `warm` were read.
  bool dropped = false;                               ///< The page cache was told to forget the bytes first.
  double seconds_a_read = 0;  ///< A cold read alone, of 128 KiB at most, with opening its file where that has no other.
  std::uint32_t in_flight = 0;  ///< Cold reads at once.
  /// Return true if the files answer so late that a loader reads ahead of decoding.
  [[nodiscard]] bool late() const { return seconds_a_read > 0.5e-3; }
  /// Return true if the cold reads were as fast as the warm ones: the bytes lay in some memory all the same.
  [[nodiscard]] bool looks_warm() const { return cold_bytes_per_s > 0.6 * warm_bytes_per_s; }
};

/// Blocks to read from the disk, and others to read again and again: what was just forgotten comes back in small pages,
/// from which copies are slower.
struct SplitSample {
  std::vector<SampledBlock> cold, warm;
};
/// Return every other block as `cold`, the rest as `warm`; of few blocks all as both.
SplitSample split_sample(std::span<const SampledBlock> sample);

/// Read the stored bytes of the cold blocks with `threads` threads, or where files answer late as a loader does, with
/// `reads_in_flight` at once (0: as many as it may have). It takes 0.2 s times `effort` at most (one block a thread at
/// least), after the system was asked to forget the bytes; then those of the warm ones are read again and again.
/// Errors: kReadFailed and the like.
Result<ReadProbe> probe_reads(const SplitSample& sample, std::uint32_t threads, std::uint32_t reads_in_flight,
                              double effort);

}  // namespace headrace
