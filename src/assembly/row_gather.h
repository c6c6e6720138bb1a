// RowGather: the rows of a batch straight from a store that holds all of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "assembly/row_digest.h"
#include "cache/row_store.h"
#include "catalog/block.h"
#include "order/sampler.h"

namespace headrace {

/// Immutable. Threads: any.
class RowGather {
 public:
  /// \param blocks  The data set's; block b is the store's block b.
  RowGather(const RowStore& store, const BlockTable& blocks);

  /// Copy `samples` (stored rows of blocks) to positions 0, 1, … of `fields` (where each field of the batch begins).
  /// Every block asked for must be ready.
  void gather(std::span<const SampleRef> samples, std::byte* const* fields, RowSums& sums) const;

 private:
  struct BlockPlace {
    std::uint64_t first_in_store, first_in_files;  // row of the block's first one
  };
  const RowStore& store_;
  std::vector<BlockPlace> places_;
};

struct Request;
/// Copy rows of a dense block to their positions in a field of a batch.
void scatter_dense(std::span<const Request> requests, const std::byte* block_rows, std::size_t row_bytes,
                   std::byte* to);

}  // namespace headrace
