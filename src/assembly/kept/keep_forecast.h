// What the first epochs of a loader that keeps blocks will take: KeepPolicy, run on figures instead of blocks.
#pragma once

#include <cstddef>
#include <vector>

#include "assembly/kept/keep_policy.h"

namespace headrace {

/// Time that a block takes, in any unit.
struct KeepCosts {
  double decode = 0;  ///< To decode it, and serve what is wanted.
  double keep = 0;    ///< More than that, to keep it.
  double hit = 0;     ///< To serve it from where it is kept.
};

/// How one epoch goes.
struct KeepEpoch {
  double cost = 0;        ///< Cost of a block, on average, in the unit of KeepCosts.
  double kept_share = 0;  ///< Share of all blocks, at the epoch's end.
};

/// Return how each of the next `epochs` goes while the consumer takes batches as they come. \param kept_share  Of all
/// blocks, at the beginning. \param room_share  Of all blocks, that can be kept. \param share  As KeepPolicy has it.
std::vector<KeepEpoch> forecast_keeping(const KeepCosts& costs, double kept_share, double room_share,
                                        std::size_t epochs, double share = KeepPolicy::kShare);

}  // namespace headrace
