// What a consumer that takes no time sees of a loader: epochs, and how long each batch let it wait.
#pragma once

#include <headrace/tools.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "tools/json.h"

namespace headrace {

/// One epoch, or the beginning of one.
struct BenchPass {
  std::uint64_t epoch = 0;  ///< Its number.
  std::uint64_t samples = 0, batches = 0, bytes = 0;
  std::uint64_t first_batch_samples = 0;
  double seconds = 0, first_batch_seconds = 0;  ///< From the start of the epoch.
  std::vector<double> batch_seconds;            ///< For each batch but the first: time since the one before it.
  bool complete = false;                        ///< False if a limit ended it.
  /// Return all samples a second, the first batch among them: while it is waited for, the window and caches fill.
  [[nodiscard]] double samples_per_second() const;
};

/// Put passes together, as if they were one.
BenchPass joined(const std::vector<BenchPass>& passes);

/// Iterate over a loader as `options` say. `progress(done_samples, total_samples)` may be empty and is called about ten
/// times a second. Errors: errors of the data; kCancelled when `progress` returned false.
std::vector<BenchPass> time_epochs(Loader& loader, const BenchOptions& options,
                                   const std::function<bool(std::uint64_t, std::uint64_t)>& progress);

/// Return the smallest value that at least `share` of `values` do not exceed (nearest rank); 0 of none.
double percentile(std::vector<double> values, double share);

/// Return a pass as the schema of docs/is-my-loading-slow.md has it.
Json pass_json(const BenchPass& pass);

/// Return the samples of every batch of this rank but the last; 0: they differ.
std::uint64_t usual_batch(const Loader& loader);

}  // namespace headrace
