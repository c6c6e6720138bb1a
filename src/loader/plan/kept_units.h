// Units of mapped samples that can be kept decoded: how many there are, how large, and what a window saves beside them.
#pragma once

#include <cstdint>

#include "assembly/mapped_source.h"

namespace headrace {

/// Units that have anything to decode.
struct KeptUnits {
  std::uint64_t number = 0;
  std::uint64_t all_bytes = 0, largest_bytes = 1;  ///< As a budget counts them.
  std::uint64_t dense_bytes = 0;                   ///< Scratch of a thread for one on its way to the cache.
};

/// Count the units of rows, or the cells of all arrays of volumes. None where nothing is decoded.
KeptUnits count_kept_units(const MappedSource& mapped);

/// Return the bytes that are decoded for a sample that is drawn at random, on average, where `waiting` samples share
/// what is decoded for them and `kept_share` of all cells is kept. docs/decisions/0028 has the formula.
double decoded_bytes_of_drawn(const MappedSource& mapped, double waiting, double kept_share);

}  // namespace headrace
