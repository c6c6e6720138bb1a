// What re-encoding would make of a data set's blocks: measured on one of them.
#pragma once

#include <memory>
#include <optional>

#include "cache/block_coder.h"
#include "loader/dataset_impl.h"

namespace headrace {

struct CodingProbe {
  std::uint64_t rows = 0;  ///< Of the block.
  double miss_ns = 0;      ///< To read and decode it from its file, in the page cache.
  std::vector<CodingTrial> trials;
};

/// Decode a block from the middle of the data, encode it each way and decode that. Blocks: tens of milliseconds.
/// nullopt if the block cannot be read or encoded: whoever needs its rows will hear why.
std::optional<CodingProbe> probe_codings(Dataset::Impl& dataset);

}  // namespace headrace
