// EpochSeed: whose randomness is meant.
#pragma once

#include <cstdint>

namespace headrace {

/// What draws of an epoch are keyed by, together with what they are for.
struct EpochSeed {
  std::uint64_t epoch = 0;
  std::uint64_t seed = 0;  ///< Seed of the loader; 0 where samples are read by number.
};

}  // namespace headrace
