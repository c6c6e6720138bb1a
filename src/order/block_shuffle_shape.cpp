// The default shape of the block shuffle. It is part of what a seed means, so these constants must never change.
#include <algorithm>
#include <bit>

#include "order/sampler.h"

namespace headrace {
namespace {
constexpr std::uint64_t kMixBatches = 32;               // rows mixed at any time, in global batches: keeps n/G fixed
constexpr std::uint64_t kSmallMixBytes = 256ull << 20;  // mixing this much is cheap on any machine
constexpr std::uint64_t kLargeMixBytes = 2ull << 30;    // beyond this, mix fewer batches …
constexpr std::uint64_t kLeastMixBatches = 8;           // … but never fewer than these
constexpr std::uint32_t kMaxStreams = 64, kLeastPool = 4;

BlockShuffleShape shape_of(const BlockTable& blocks, std::uint64_t mixed_rows) {
  const std::uint64_t n = blocks.num_blocks(), mean_rows = std::max<std::uint64_t>(blocks.num_rows() / n, 1);
  const std::uint64_t wanted = std::clamp<std::uint64_t>(mixed_rows / mean_rows, 1, n);
  BlockShuffleShape shape;
  const std::uint64_t fitting = std::max<std::uint64_t>(wanted / kLeastPool, 1);
  shape.streams = static_cast<std::uint32_t>(std::min<std::uint64_t>(std::bit_floor(fitting), kMaxStreams));
  shape.pool_blocks = static_cast<std::uint32_t>(wanted / shape.streams);
  return shape;
}

std::uint64_t default_mixed_rows(std::uint64_t global_batch, std::uint64_t row_bytes) {
  const std::uint64_t bytes = std::max<std::uint64_t>(row_bytes, 1);
  const std::uint64_t mixed = std::clamp(kMixBatches * global_batch, kSmallMixBytes / bytes,
                                         std::max(kSmallMixBytes / bytes, kLargeMixBytes / bytes));
  return std::max(mixed, kLeastMixBatches * global_batch);
}

}  // namespace

BlockShuffleShape default_shuffle_shape(const BlockTable& blocks, std::uint64_t global_batch, std::uint64_t row_bytes) {
  if (blocks.num_blocks() == 0) return {};
  return shape_of(blocks, default_mixed_rows(global_batch, row_bytes));
}

BlockShuffleShape visit_shuffle_shape(const BlockTable& blocks, std::uint64_t global_batch, std::uint64_t row_bytes,
                                      std::uint64_t bytes) {
  if (blocks.num_blocks() == 0) return {};
  const std::uint64_t mixed =
      bytes == 0 ? default_mixed_rows(global_batch, row_bytes) : bytes / std::max<std::uint64_t>(row_bytes, 1);
  const std::uint64_t visits = std::bit_floor(std::max<std::uint64_t>(mixed / blocks.max_block_rows(), 1));
  const std::uint64_t batch = std::bit_ceil(std::min<std::uint64_t>(global_batch, kMaxStreams));
  const std::uint64_t streams = std::min<std::uint64_t>(std::max(visits, batch), kMaxStreams);
  return {static_cast<std::uint32_t>(std::min(streams, std::bit_floor(blocks.num_blocks()))), 1};
}

BlockShuffleShape shuffle_shape_of_bytes(const BlockTable& blocks, std::uint64_t bytes, std::uint64_t row_bytes) {
  if (blocks.num_blocks() == 0) return {};
  return shape_of(blocks, std::max<std::uint64_t>(bytes / std::max<std::uint64_t>(row_bytes, 1), 1));
}

}  // namespace headrace
