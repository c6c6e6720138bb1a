// Every automatic setting of a loader, resolved once, before any thread starts.
#pragma once

#include <headrace/loader.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "assembly/block_layout.h"
#include "assembly/copying/finisher.h"
#include "assembly/sample_source.h"
#include "base/machine/own_cpus.h"
#include "base/result.h"
#include "cache/blocks/block_coder.h"
#include "catalog/samples/box_map.h"
#include "catalog/samples/sample_map.h"
#include "dataset/facts/label.h"
#include "loader/options/rank.h"
#include "loader/plan/coding_probe.h"
#include "loader/plan/token_lengths.h"
#include "order/grouped.h"
#include "order/listed_rows.h"
#include "order/online_sampler.h"
#include "order/sampler.h"
#include "order/steps/budget_steps.h"
#include "order/steps/step_plan.h"

namespace headrace {

/// What stays of decoded blocks, between epochs.
enum class CacheTier : std::uint8_t {
  kNothing,
  kSomeBlocks,  ///< In what memory is left: a BlockCache.
  kAllRows,     ///< In memory of this process.
  kHostRows,    ///< In memory that the processes of this host share.
  kDirectory,   ///< In a cache directory.
};

/// Memory that a loader may plan with.
struct MemoryRoom {
  std::uint64_t free_bytes = 0;         ///< Held by nothing.
  std::uint64_t reclaimable_bytes = 0;  ///< Held by caches and idle loaders: windows may have it, caches not.
};

struct EnginePlan {
  BlockLayout layout;                        ///< How rows decode together; empty for mapped samples.
  std::shared_ptr<const BlockTable> blocks;  ///< What the order shuffles.
  std::optional<BlockShuffleShape> shape;    ///< Shape of the block shuffle; nullopt: it is another order.
  bool is_shuffled = false;                  ///< The order is that block shuffle, or one permutation of all samples.
  std::shared_ptr<const Sampler> sampler;
  std::shared_ptr<const StepPlan> steps;
  std::shared_ptr<const BudgetSteps> budget;    ///< The steps, where they are those of a token budget; else null.
  std::shared_ptr<const TokenLengths> lengths;  ///< What those follow from.
  /// Samples of a full step over all ranks; of a token budget, on average.
  std::uint64_t global_batch = 1;
  RankShare share;
  Tail tail = Tail::kPartial;
  std::string rank_reason;
  std::uint64_t batch_rows = 0, num_batches = 0;  ///< Most rows of a batch on this rank; batches: about, if they vary.
  std::uint32_t threads = 1;
  std::string threads_reason;
  std::uint32_t reads_in_flight = 0;  ///< Reads made ahead of decoding; 0: as measurements say.
  bool delivers_row_ids = false;      ///< Deliver "_rows".
  bool delivers_weights = false;      ///< Deliver "_weight": some samples come once more, to fill up a step.
  std::uint64_t seed = 0;             ///< Seed of random transforms, with the epoch.
  std::vector<std::string> warnings;
  /// What samples are made of, where they are not rows, and the blocks of the rows of its group 0; null: they are rows.
  std::shared_ptr<const SampleMap> map;
  std::shared_ptr<const BlockTable> map_rows;
  std::shared_ptr<const BoxMap> boxes;       ///< The map, where samples are boxes of volumes; else null.
  bool delivers_valid = false;               ///< Deliver, beside each array of volumes, which elements there are.
  std::shared_ptr<const Finisher> padding;   ///< Fills up ragged samples to the longest of their batch; null: nothing.
  std::shared_ptr<OnlineRows> online;        ///< Rows that a sampler feeds during the epoch.
  std::shared_ptr<const ListedRows> listed;  ///< Rows of an order that is a list for each epoch.
  std::shared_ptr<const Grouped> groups;     ///< Groups of an order of whole groups.
  std::uint64_t budget_bytes = 0;
  std::string budget_reason;
  std::uint64_t slots = 0;         ///< In the window and with the consumer.
  std::uint64_t wanted_slots = 0;  ///< With which every block is decoded once.
  std::uint64_t slot_bytes = 0;
  std::uint64_t slot_index_bytes = 0;                      ///< Part of `index_bytes` that each slot takes.
  std::uint64_t scratch_bytes = 0, read_buffer_bytes = 0;  ///< All threads.
  std::uint64_t held_ahead_bytes = 0;          ///< Part of `read_buffer_bytes`, for what is read ahead of decoding.
  std::uint64_t index_bytes = 0;               ///< The window's bookkeeping, and the order's pools and lists.
  std::uint64_t staging_bytes = 0;             ///< Buffers of the program, on the way to a device.
  std::uint64_t side_chunks_bytes = 0;         ///< Kept of straddling arrays; 0: none.
  std::uint64_t side_chunks_in_use_bytes = 0;  ///< Beside those: one a thread.

  CacheTier tier = CacheTier::kNothing;
  std::string tier_reason;
  std::uint64_t data_bytes = 0;     ///< Bytes of all rows of the blocks, or of all cells, decoded.
  std::uint64_t kept_units = 0;     ///< Units that could be kept one by one.
  bool keeps_all_units = false;     ///< All of them fit in `cache_bytes`.
  bool is_as_stored = false;        ///< Nothing is decoded on the way to batches, so there is nothing to keep.
  std::uint64_t cache_bytes = 0;    ///< Part of the budget, for what is kept.
  std::uint64_t keeping_bytes = 0;  ///< Scratch for blocks on their way there, all threads.
  bool preloads = false;            ///< All is decoded before the first batch.
  /// All rows fit, and batches are gathered from there one by one: a block is decoded when one of them needs it first.
  bool gathers = false;
  BlockCoding coding = BlockCoding::kRaw;  ///< Coding of kSomeBlocks.
  double coded_share = 1;                  ///< Encoded over decoded bytes.
  /// kSomeBlocks, but all of them fit encoded, as far as is known: as the cache grows it takes slots from the window,
  /// but for direct_window_slots().
  bool fits_encoded = false;
  bool gather_ready = false;  ///< kDirectory, whole, and rows can be copied from anywhere in it.

  /// Return the blocks of rows that decode together: those of the map's group 0, or those that the order shuffles.
  [[nodiscard]] const BlockTable& stored_blocks() const { return map_rows ? *map_rows : *blocks; }
  /// Return the number of what decodes together: blocks of rows, or units of all groups of the map.
  [[nodiscard]] std::uint64_t num_units() const { return map ? map->num_units() : blocks->num_blocks(); }
  /// Return true if the samples of each epoch are drawn anew.
  [[nodiscard]] bool draws_samples() const { return boxes && boxes->drawn(); }
  /// Return the slots over which the samples of a shuffle block are spread, where each is a visit, and a tenth more.
  [[nodiscard]] std::uint64_t visit_slots() const {
    const std::uint64_t mixed = (shape ? shape->mixed_blocks() : 1) * blocks->max_block_rows();
    return mixed * 11 / 10 / std::max<std::uint64_t>(global_batch, 1) + 2;
  }
  /// Return the order in words.
  [[nodiscard]] std::string order_text() const;
  /// Return the rows of a batch on this rank, on average.
  [[nodiscard]] std::uint64_t mean_rows() const;
  /// Return the most rows of a batch that there can be.
  [[nodiscard]] std::uint64_t slot_rows() const {
    return tail == Tail::kPad ? batch_rows : std::min(batch_rows, sampler->num_samples());
  }
  /// Return the longest window, without the slots that are with the consumer.
  [[nodiscard]] std::uint64_t window_slots() const { return slots > 3 ? slots - 2 : 1; }
  [[nodiscard]] std::uint64_t planned_bytes() const { return window_bytes() + cache_bytes; }
  /// Return the slots that will do where batches come straight from memory: a few ahead.
  [[nodiscard]] std::uint64_t direct_window_slots() const;
  /// Return true if the window is so short that memory of others is worth asking for.
  [[nodiscard]] bool is_short_of_memory() const { return slots < direct_window_slots(); }
  /// Return true if every block is kept once it was decoded.
  [[nodiscard]] bool keeps_all() const {
    return tier == CacheTier::kAllRows || tier == CacheTier::kHostRows || tier == CacheTier::kDirectory ||
           fits_encoded || keeps_all_units;
  }
  /// Return the bytes of the window, without what is kept.
  [[nodiscard]] std::uint64_t window_bytes() const {
    return slots * slot_bytes + scratch_bytes + keeping_bytes + read_buffer_bytes + side_bytes() + index_bytes +
           staging_bytes;
  }
  /// Return the bytes for fields whose chunks reach past the blocks.
  [[nodiscard]] std::uint64_t side_bytes() const {
    return layout.resident_bytes + side_chunks_bytes + side_chunks_in_use_bytes;
  }
  /// Return the decodes of a block that the window's length leads to; 1 where it holds the order's span.
  [[nodiscard]] double expected_decodes() const;
  /// Return the decodes of a block over all ranks together where each rank decodes its own blocks once; 0: unknown.
  [[nodiscard]] double decodes_over_ranks() const;
};

/// What a plan follows from, beside the data and the options.
struct PlanContext {
  RankChoice rank;
  MemoryRoom room;
  OwnCpus cpus;
  const Label* label = nullptr;                      ///< Label for a sampler that needs one.
  std::shared_ptr<const ListedRows> listed = {};     ///< Rows of a sampler that is a list; null: those of the options.
  std::shared_ptr<const TokenLengths> lengths = {};  ///< Lengths for a token budget; null: to be found.
  std::uint32_t lanes = 0;                           ///< Lanes of a token budget, from a state; 0: as the options say.
  std::shared_ptr<const GroupTable> groups = {};  ///< Groups of a loader of groups; null: found where they are files.
  bool delivers_weights = false;                  ///< Whatever follows from the options: an epoch is gone on with.
  const CodingProbe* probe = nullptr;             ///< What re-encoding would make of the blocks; null: not known.
  std::uint64_t kept_bytes = 0;                   ///< Bytes of blocks that this loader keeps already.
  bool cache_is_whole = false;                    ///< The cache directory is: nothing will be written.
  bool gather_ready = false;                      ///< And its rows can be copied from anywhere in it.
  bool directory_in_memory = false;               ///< A tmpfs: what is written there is memory of ours.
};

/// Errors: kInvalidArgument; kOutOfBudget with the smallest budget that would do.
Result<EnginePlan> resolve_plan(const SampleSource& source, const LoaderOptions& options, const PlanContext& context);

}  // namespace headrace
