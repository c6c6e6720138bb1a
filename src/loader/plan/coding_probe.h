// What re-encoding would make of a data set's blocks: measured on one of them.
#pragma once

#include <headrace/dataset.h>

#include <optional>

#include "base/memory/memory_budget.h"
#include "cache/blocks/block_coder.h"

namespace headrace {

struct CodingProbe {
  std::uint64_t rows = 0;  ///< Rows of the block.
  double miss_ns = 0;      ///< To read and decode it from its file, in the page cache.
  std::vector<CodingTrial> trials;
};

/// Decode a few blocks from all over the data, encode them each way, and decode one of them again. Blocks: tens of
/// milliseconds. Its memory is charged to `budget` meanwhile. nullopt if there is too little, or if blocks cannot be
/// read or encoded: a caller that needs their rows is told why.
std::optional<CodingProbe> probe_codings(Dataset::Impl& dataset, MemoryBudget& budget);

}  // namespace headrace
