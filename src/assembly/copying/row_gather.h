// RowGather: the rows of a batch straight from a store that holds all of them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "assembly/copying/sink.h"
#include "cache/row_store.h"
#include "catalog/block.h"
#include "order/sampler.h"

namespace headrace {

/// Immutable. Threads: any.
class RowGather {
 public:
  /// \param blocks  The data set's; block b is the store's block b.
  /// \param program  Transforms of the rows; null: none.
  RowGather(const RowStore& store, const BlockTable& blocks, std::shared_ptr<const Program> program);

  /// Copy `samples` (stored rows of blocks) to places 0, 1, … of `to`. Every block asked for must be ready.
  /// \return Samples that a transform could not take, by place.
  std::vector<RowFailure> gather(std::span<const SampleRef> samples, const RowRun& to) const;

 private:
  const RowStore& store_;
  const Sink sink_;
  std::vector<RowsAt> fields_;            // of the store, all its rows
  std::vector<std::uint64_t> distances_;  // of each block: how far its rows' numbers in the files are from the store's;
                                          // empty: the store has all rows where the files have them
};

}  // namespace headrace
