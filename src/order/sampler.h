// Sampler: the order of the samples in an epoch. A pure function (catalog, seed, epoch) → stream of samples; no I/O,
// threads, clock.
//
// Prefetch, decoding order, memory and resume all read the sampler; none of them can change it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "catalog/block.h"
#include "catalog/sample_ref.h"

namespace headrace {

/// Data-parallel rank: which part of every global batch is asked for.
struct RankShare {
  std::uint32_t rank = 0, world_size = 1;
  friend bool operator==(const RankShare&, const RankShare&) = default;
};

/// What a cursor walks over: one rank's part of the batches of one epoch, from some sample on.
struct Walk {
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;      ///< Samples of the epoch that all ranks were given before.
  std::uint64_t global_batch = 1;  ///< Samples a step, over all ranks.
  RankShare share = {};

  /// Return the global samples before `step` of this walk, for an epoch of `total` samples.
  [[nodiscard]] std::uint64_t begin_of(std::uint64_t step, std::uint64_t total) const {
    return position >= total || step >= (total - position) / global_batch + 1 ? total : position + step * global_batch;
  }
};

/// The part of `count` samples that a rank gets: contiguous, and equal for all ranks where the world size divides.
struct ShareRange {
  std::uint64_t begin, end;
};
inline ShareRange share_of(RankShare share, std::uint64_t count) {
  __extension__ using uint128 = unsigned __int128;
  const auto cut = [&](std::uint64_t r) {
    return static_cast<std::uint64_t>(static_cast<uint128>(r) * count / share.world_size);
  };
  return {cut(share.rank), cut(std::uint64_t{share.rank} + 1)};
}

/// Walks one epoch, step by step. Not thread-safe; holds O(window) memory. Making one costs O(blocks) at most, never
/// O(rows), except for samplers that say so.
class Cursor {
 public:
  virtual ~Cursor() = default;
  /// Append the rank's samples of the next step to `out`, in batch order; nothing after the last. To
  /// `counted_elsewhere` go samples of the same blocks that other ranks get, or that were given before the walk began,
  /// as far as rows_in() counts them.
  virtual void next_step(std::vector<SampleRef>& out, std::vector<BlockRows>& counted_elsewhere) = 0;
  /// Return the samples of the last step, over all ranks, before the rank's first.
  [[nodiscard]] virtual std::uint64_t offset() const = 0;
  /// Return how many samples of `block` next_step() gives to `out` and `counted_elsewhere` in this walk: with the last
  /// of them the block is done with. 0: unknown.
  [[nodiscard]] virtual std::uint64_t rows_in(std::uint32_t block) const = 0;
};

/// What holds of an order as a whole.
struct OrderTraits {
  bool permutation = true;          ///< Every row of the data comes exactly once an epoch.
  bool local = true;                ///< The rows of a block come near each other, so that a block can be waited for.
  bool foresees_uses = false;       ///< Sampler::first_uses() knows.
  bool in_file_order = false;       ///< A rank's part of a step is a stretch of the rows as they are stored.
  std::uint64_t mixed_samples = 0;  ///< How many are mixed at any time; 0: no limit, or nothing is mixed.
};

/// Immutable. Threads: all const members from any thread.
class Sampler {
 public:
  virtual ~Sampler() = default;
  /// Return the samples of an epoch, over all ranks.
  [[nodiscard]] virtual std::uint64_t num_samples() const = 0;
  [[nodiscard]] virtual std::unique_ptr<Cursor> cursor(const Walk& walk) const = 0;
  /// Return one line for explain().
  [[nodiscard]] virtual std::string describe() const = 0;
  /// Return what the order is, besides data and seed: "block 64x4". Part of a resumable state; equal text, equal order.
  [[nodiscard]] virtual std::string identity() const = 0;
  /// Return what it is for a run that goes on in `epoch` after `position` samples, where epochs have orders of their
  /// own.
  [[nodiscard]] virtual std::string identity_at(std::uint64_t epoch, std::uint64_t position) const {
    (void)epoch, (void)position;
    return identity();
  }
  /// Return the steps over which the rows of one block may be spread for a rank: the window that decodes every block
  /// once.
  [[nodiscard]] virtual std::uint64_t span_steps(std::uint64_t global_batch, RankShare share) const = 0;
  [[nodiscard]] virtual OrderTraits traits() const { return {}; }
  /// Return true if the samples of `epoch` before `end` are settled. False only for a sampler that feeds rows during
  /// the epoch.
  [[nodiscard]] virtual bool is_settled(std::uint64_t epoch, std::uint64_t end) const {
    (void)epoch, (void)end;
    return true;
  }
  /// Return where in an epoch the rank first needs each block, in 2^-20 of the epoch; kNeverUsed: not at all. Empty:
  /// not known without going through all samples. O(blocks).
  [[nodiscard]] virtual std::vector<std::uint32_t> first_uses(std::uint64_t epoch, RankShare share) const {
    (void)epoch, (void)share;
    return {};
  }
  static constexpr std::uint32_t kEpochTicks = 1 << 20, kNeverUsed = ~std::uint32_t{0};
  /// Return V if each of `world_size` ranks walks parts of the data of its own, of equal length to within a sample, and
  /// any V consecutive samples from a multiple of V on hold the same number of every rank's; 0 otherwise.
  [[nodiscard]] virtual std::uint64_t own_parts(std::uint32_t world_size) const {
    (void)world_size;
    return 0;
  }
  /// Return what the sampler and one cursor of that rank hold at most, beside the block table.
  [[nodiscard]] virtual std::uint64_t memory_bytes(RankShare share) const = 0;
};

/// Make the order of the files.
std::unique_ptr<Sampler> make_sequential(std::shared_ptr<const BlockTable> blocks);

/// The shape of a block shuffle: V streams, pools of K blocks.
struct BlockShuffleShape {
  std::uint32_t streams = 1;
  std::uint32_t pool_blocks = 1;
  [[nodiscard]] std::uint64_t mixed_blocks() const { return std::uint64_t{streams} * pool_blocks; }
  friend bool operator==(const BlockShuffleShape&, const BlockShuffleShape&) = default;
};

/// Return what shuffle=True does: a block shuffle, or, as nullopt, one permutation of all rows. Depends on the blocks,
/// the global batch and the bytes a row only, never on the machine: a seed means the same batches everywhere.
/// \param share  Of what may be mixed, that is left to these rows: their part of a mixture.
std::optional<BlockShuffleShape> default_shuffle(const BlockTable& blocks, std::uint64_t global_batch,
                                                 std::uint64_t row_bytes, double share = 1);
/// Return the same where a block is a visit, whose rows are near each other: pools of one, in up to 64 streams, so that
/// no batch of that size has two rows of a block. \param bytes  To mix; 0: the default.
BlockShuffleShape visit_shuffle_shape(const BlockTable& blocks, std::uint64_t global_batch, std::uint64_t row_bytes,
                                      std::uint64_t bytes);
/// Return the shape that mixes at most `bytes` of decoded rows at any time; nullopt: all of them are, and one
/// permutation of all rows mixes best.
std::optional<BlockShuffleShape> shuffle_of_bytes(const BlockTable& blocks, std::uint64_t bytes,
                                                  std::uint64_t row_bytes, std::uint64_t global_batch);

/// Return how a state names the order of a block shuffle: "mix 512x1".
std::string block_order_text(BlockShuffleShape shape);

/// Make the block shuffle: the cut and folded line (see block_shuffle.cpp).
std::unique_ptr<Sampler> make_block_shuffle(std::shared_ptr<const BlockTable> blocks, BlockShuffleShape shape,
                                            std::uint64_t seed);

/// Make an order of draws with weights. With replacement: `num_samples` independent draws from an alias table (16 bytes
/// a row), any position directly. Without: the first `num_samples` of an order in which heavier rows tend to come
/// earlier (Efraimidis, Spirakis 2006), drawn anew each epoch; 16 bytes a row, O(rows log rows) an epoch. \param
/// weights  One for each row: finite, not negative, not all zero; without replacement at least num_samples positive.
std::unique_ptr<Sampler> make_weighted(std::shared_ptr<const BlockTable> blocks, const std::vector<double>& weights,
                                       bool replacement, std::uint64_t num_samples, std::uint64_t seed);

/// Make an order with every class as often as any other: of each run of C samples, C the number of classes that have
/// rows, one is of each class, in random order. A class's rows come once each before any comes again. 8 bytes a row.
/// \param classes  Class of each row, below num_classes.
std::unique_ptr<Sampler> make_balanced(std::shared_ptr<const BlockTable> blocks, std::span<const std::uint32_t> classes,
                                       std::uint32_t num_classes, std::uint64_t num_samples, std::uint64_t seed);

/// A data set of a mixture.
struct MixturePart {
  std::string name;
  std::shared_ptr<const Sampler> sampler;  ///< Over a table of the data set's own blocks; at least one sample.
  std::uint64_t first_block = 0;           ///< Number in the mixture's table; ascending.
  double weight = 1;                       ///< Positive; only ratios count.
};
/// Make an order of samples of several data sets in the proportions of their weights: in every stretch of N samples to
/// within O(log N). Each part goes on where the epoch before ended, so that over epochs its rows come equally often.
std::unique_ptr<Sampler> make_mixture(std::vector<MixturePart> parts, std::uint64_t num_samples, std::uint64_t seed);

/// Make a permutation of all rows in O(1) memory.
std::unique_ptr<Sampler> make_global_shuffle(std::shared_ptr<const BlockTable> blocks, std::uint64_t seed);

}  // namespace headrace
