// RowGather: the rows of a batch straight from a store that holds all of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "assembly/sink.h"
#include "cache/row_store.h"
#include "catalog/block.h"
#include "order/sampler.h"

namespace headrace {

/// Immutable. Threads: any.
class RowGather {
 public:
  /// \param blocks  The data set's; block b is the store's block b.
  RowGather(const RowStore& store, const BlockTable& blocks);

  /// Copy `samples` (stored rows of blocks) to places 0, 1, … of `to`. Every block asked for must be ready.
  void gather(std::span<const SampleRef> samples, const RowRun& to) const;

 private:
  struct BlockPlace {
    std::uint64_t first_in_store, first_in_files;  // row of the block's first one
  };
  const RowStore& store_;
  const Sink sink_;
  std::vector<BlockPlace> places_;
};

}  // namespace headrace
