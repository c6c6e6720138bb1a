// Sampler: who comes when. A pure function (catalog, seed, epoch) → stream of samples; no I/O, threads or clock.
//
// Prefetch, decoding order, memory and resume all read the sampler; none of them can change it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "catalog/block.h"

namespace headrace {

/// One sample: a row of a block.
struct SampleRef {
  std::uint32_t block = 0;
  std::uint32_t row = 0;
  friend bool operator==(const SampleRef&, const SampleRef&) = default;
};

/// Walks one epoch, batch by batch. Not thread-safe; holds O(window) memory.
class Cursor {
 public:
  virtual ~Cursor() = default;
  /// Append the samples of the next batch to `out`, in batch order. Appends nothing after the last.
  virtual void next_batch(std::vector<SampleRef>& out) = 0;
  /// Go to the start of a batch. Cost: O(blocks) at most, never O(rows).
  virtual void seek(std::uint64_t batch) = 0;
};

/// Immutable. Threads: all const members from any thread.
class Sampler {
 public:
  virtual ~Sampler() = default;
  /// Samples an epoch.
  [[nodiscard]] virtual std::uint64_t num_samples() const = 0;
  [[nodiscard]] virtual std::uint64_t batch_rows() const = 0;
  [[nodiscard]] virtual std::unique_ptr<Cursor> cursor(std::uint64_t epoch) const = 0;
  /// One line for explain().
  [[nodiscard]] virtual std::string describe() const = 0;
  /// Batches over which the rows of one block may be spread: the window that decodes every block once.
  [[nodiscard]] virtual std::uint64_t span_batches() const = 0;
  /// True if every row of a block comes exactly once an epoch.
  [[nodiscard]] virtual bool is_permutation() const { return true; }
};

/// Rows in file order.
std::unique_ptr<Sampler> make_sequential(std::shared_ptr<const BlockTable> blocks, std::uint64_t batch_rows);

/// The shape of a block shuffle: V streams, pools of K blocks.
struct Mix {
  std::uint32_t streams = 1;
  std::uint32_t pool_blocks = 1;
  [[nodiscard]] std::uint64_t mixed_blocks() const { return std::uint64_t{streams} * pool_blocks; }
  friend bool operator==(const Mix&, const Mix&) = default;
};

/// The default shape. Depends on the blocks, the global batch and the bytes a row only, never on the machine: a seed
/// means the same batches everywhere.
Mix default_mix(const BlockTable& blocks, std::uint64_t global_batch, std::uint64_t row_bytes);

/// The block shuffle: the cut and folded line (see block_shuffle.cpp).
std::unique_ptr<Sampler> make_block_shuffle(std::shared_ptr<const BlockTable> blocks, std::uint64_t batch_rows, Mix mix,
                                            std::uint64_t seed);

/// A permutation of all rows in O(1) memory.
std::unique_ptr<Sampler> make_global_shuffle(std::shared_ptr<const BlockTable> blocks, std::uint64_t batch_rows,
                                             std::uint64_t seed);

}  // namespace headrace
