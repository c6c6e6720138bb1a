// What shuffle=True does: the shape of the block shuffle, or one permutation of all rows. It is part of what a seed
// means, so these constants must never change. docs/decisions/0039 derives and measures them.
//
// With V streams of pools of P blocks, out of N equal blocks, a batch of B >= V samples has
//   Deff = B / (V P) - B / N + 1 - 1 / P
// for a label that is constant in each block, and at most 1 where V >= B: each of its samples is of another block then.
// So pools are of one block, and there are as many streams as a batch has samples, as far as memory allows.
#include <algorithm>
#include <bit>

#include "order/sampler.h"

namespace headrace {
namespace {
constexpr std::uint64_t kSmallBytes = 256ull << 20;  // mixing this much is cheap on any machine
constexpr std::uint64_t kMostBytes = 1ull << 30;     // mixed at any time where the batch asks for more
constexpr std::uint64_t kMostStreams = 1 << 16;      // each is some 500 bytes, and 0.3 us at the start of an epoch
constexpr std::uint64_t kMostStreamsOfBatch = 4;     // more streams than that, for each sample, mix batches no better

/// Return the largest of 1, 2, 3, 4, 6, 8, 12 ... up to `most`: streams that ranks can share evenly, and that are
/// spread evenly over the data.
std::uint64_t streams_up_to(std::uint64_t most) {
  const std::uint64_t power = std::bit_floor(std::max<std::uint64_t>(most, 1));
  return power >= 2 && power + power / 2 <= most ? power + power / 2 : power;
}
/// Return the smallest of them that is not below `least`.
std::uint64_t streams_from(std::uint64_t least) {
  const std::uint64_t power = std::bit_ceil(std::max<std::uint64_t>(least, 1));
  return power >= 4 && power / 4 * 3 >= least ? power / 4 * 3 : power;
}
/// Return the streams with which Deff is at most 1.1.
std::uint64_t wanted_streams(std::uint64_t global_batch) {
  return std::min(streams_from((global_batch * 10 + 10) / 11), kMostStreams);
}
BlockShuffleShape shape(std::uint64_t streams, std::uint64_t pool_blocks) {
  return {static_cast<std::uint32_t>(streams), static_cast<std::uint32_t>(pool_blocks)};
}

/// Blocks of a table, as the rule counts them.
struct Blocks {
  Blocks(const BlockTable& table, std::uint64_t row_bytes)
      : number(table.num_blocks()),
        bytes(table.num_rows() * std::max<std::uint64_t>(row_bytes, 1)),
        each_bytes(std::max<std::uint64_t>(bytes / std::max<std::uint64_t>(number, 1), 1)) {}
  /// Return how many there are in so many bytes: at least one, at most all.
  [[nodiscard]] std::uint64_t in(std::uint64_t of_bytes) const {
    return std::clamp<std::uint64_t>(of_bytes / each_bytes, 1, std::max<std::uint64_t>(number, 1));
  }
  std::uint64_t number, bytes, each_bytes;
};

/// Return the shape that mixes `mixed` blocks: as many streams as a batch can use, and the rest in their pools.
BlockShuffleShape shape_of(const BlockTable& table, std::uint64_t mixed, std::uint64_t global_batch) {
  const std::uint64_t wanted = wanted_streams(global_batch);
  std::uint64_t most = std::max(wanted, std::min(streams_from(kMostStreamsOfBatch * global_batch), kMostStreams));
  const bool mixes_most = 2 * mixed > table.num_blocks();  // then no stream need be shorter than a block
  if (mixes_most) most = std::min(most, std::max<std::uint64_t>(table.num_rows() / table.max_block_rows(), 1));
  const std::uint64_t streams = streams_up_to(std::min(mixed, most));
  return shape(streams, streams < wanted && !mixes_most ? 1 : std::max<std::uint64_t>(mixed / streams, 1));
}

}  // namespace

std::optional<BlockShuffleShape> default_shuffle(const BlockTable& table, std::uint64_t global_batch,
                                                 std::uint64_t row_bytes, double share) {
  const Blocks blocks(table, row_bytes);
  const auto small = static_cast<std::uint64_t>(share * static_cast<double>(kSmallBytes));
  const auto most = static_cast<std::uint64_t>(share * static_cast<double>(kMostBytes));
  const std::uint64_t wanted = wanted_streams(global_batch);
  // So many streams would hold half of the data: all of it mixes better.
  if (blocks.bytes <= small || (blocks.bytes <= most && wanted > blocks.number / 2)) return std::nullopt;
  if (blocks.in(small) >= wanted) return shape_of(table, blocks.in(small), global_batch);
  return shape(std::min(streams_up_to(blocks.in(most)), wanted), 1);
}

BlockShuffleShape visit_shuffle_shape(const BlockTable& table, std::uint64_t global_batch, std::uint64_t row_bytes,
                                      std::uint64_t bytes) {
  if (table.num_blocks() == 0) return {};
  constexpr std::uint64_t kMostVisits = 64, kMixBatches = 32, kLeastMixBatches = 8, kLargeMixBytes = 2ull << 30;
  const std::uint64_t each = std::max<std::uint64_t>(row_bytes, 1);
  const std::uint64_t usual = std::max(
      std::clamp(kMixBatches * global_batch, kSmallBytes / each, std::max(kSmallBytes / each, kLargeMixBytes / each)),
      kLeastMixBatches * global_batch);
  const std::uint64_t mixed = bytes == 0 ? usual : bytes / each;
  const std::uint64_t visits = std::bit_floor(std::max<std::uint64_t>(mixed / table.max_block_rows(), 1));
  const std::uint64_t batch = std::bit_ceil(std::min<std::uint64_t>(global_batch, kMostVisits));
  const std::uint64_t streams = std::min<std::uint64_t>(std::max(visits, batch), kMostVisits);
  return shape(std::min(streams, std::bit_floor(table.num_blocks())), 1);
}

std::optional<BlockShuffleShape> shuffle_of_bytes(const BlockTable& table, std::uint64_t bytes, std::uint64_t row_bytes,
                                                  std::uint64_t global_batch) {
  const Blocks blocks(table, row_bytes);
  if (bytes >= blocks.bytes) return std::nullopt;
  return shape_of(table, blocks.in(bytes), global_batch);
}

}  // namespace headrace
