#include "loader/plan/plan_mapped_memory.h"

#include <fmt/format.h>
#include <headrace/bytes.h>

#include <algorithm>

#include "assembly/servers/part_server.h"
#include "base/memory/align.h"
#include "base/text/number_text.h"
#include "delivery/slot_pool.h"
#include "loader/plan/derived_columns.h"
#include "loader/plan/kept_units.h"
#include "loader/plan/plan_mapped_stores.h"
#include "loader/plan/plan_memory.h"

namespace headrace {
namespace {

constexpr std::uint64_t kPartBytes = 96;   // of a part in the window: planned, filed under its unit, claimed
constexpr std::uint64_t kUnitBytes = 208;  // of a unit that a batch waits for, and how far its shuffle blocks are
constexpr std::uint64_t kCountersOfBlockBytes = 8;  // of a shuffle block, in two epochs
/// Batches of drawn samples that wait together share what is decoded for them. Twice as many were a quarter slower
/// where nothing is decoded: parts of a row come from neighbouring cells, and the row leaves the processor's cache in
/// between.
constexpr std::uint64_t kDrawnWindowBytes = 256 << 20;

constexpr std::uint64_t kLeastKeptUnits = 4;  // a smaller cache is not worth its scratch

/// Bytes of batches.
struct BatchBytes {
  std::uint64_t largest = 0, mean = 0;
  std::uint64_t beside = 0, largest_beside = 0;  ///< Bytes of columns made from the plan: counted for a slot, the most.
};

/// Rows of samples in the ragged group.
struct PaddedRows {
  std::uint64_t longest = 0, row_bytes = 0;
  std::uint64_t fixed_bytes = 0;     ///< What a sample has beside them.
  std::vector<std::uint64_t> tried;  ///< Lengths of some samples, ascending.
};

PaddedRows padded_rows(const MappedSource& mapped) {
  constexpr std::uint64_t kTried = 1 << 14;
  PaddedRows rows;
  rows.row_bytes = mapped.sizes.ragged_row_bytes;
  rows.fixed_bytes = mapped.sizes.fixed_bytes;
  const SampleMap& map = *mapped.map;
  const auto groups = map.groups();
  const auto ragged = std::ranges::find(groups, UnitGroup::Rows::kRagged, &UnitGroup::rows) - groups.begin();
  rows.longest = (mapped.sizes.most_bytes - rows.fixed_bytes) / std::max<std::uint64_t>(rows.row_bytes, 1);
  const BlockTable& blocks = *map.shuffle_blocks();
  std::vector<SampleRef> samples;
  for (std::uint64_t i = 0; i < blocks.num_rows(); i += blocks.num_rows() / kTried + 1) {
    const BlockTable::RowPlace at = blocks.find(i);
    samples.push_back({static_cast<std::uint32_t>(at.block), at.row_in_block});
  }
  map.lengths(samples, static_cast<std::size_t>(ragged), rows.tried);
  std::ranges::sort(rows.tried);
  return rows;
}

/// Return about how long the longest of n samples is: as all but one of n + 1 samples are.
std::uint64_t longest_of(const PaddedRows& rows, std::uint64_t samples) {
  return rows.tried[rows.tried.size() - 1 - (rows.tried.size() - 1) / (samples + 1)];
}

BatchBytes padded_bytes(const PaddedRows& rows, std::uint64_t samples) {
  const auto bytes = [&](std::uint64_t width) { return samples * (width * rows.row_bytes + rows.fixed_bytes); };
  const std::uint64_t beside = samples * (rows.longest + sizeof(std::int64_t));
  return {bytes(rows.longest), std::max<std::uint64_t>(bytes(longest_of(rows, samples)), 64), beside, beside};
}

/// The same with a budget of tokens, which bounds samples times the longest of them.
BatchBytes padded_budget_bytes(const PaddedRows& rows, const EnginePlan& plan, std::uint64_t samples) {
  const BudgetSteps& budget = *plan.budget;
  const bool alike = budget.options().arrangement == StepArrangement::kBucket;  // within a quarter, and some more
  const std::uint64_t mean = budget.costs().sum / std::max<std::uint64_t>(budget.costs().samples, 1);
  const std::uint64_t usual = alike ? mean + mean / 2 + 1 : longest_of(rows, plan.mean_rows());
  const std::uint64_t most_rows = std::min(budget.most_cost(), samples * rows.longest),
                      usual_rows = std::min(
                          {budget.lanes_of_rank() * budget.options().tokens, plan.mean_rows() * usual, most_rows});
  const auto bytes = [&](std::uint64_t cost, std::uint64_t number) {
    return std::max<std::uint64_t>(cost * rows.row_bytes + number * rows.fixed_bytes, 64);
  };
  const auto beside = [](std::uint64_t cost, std::uint64_t number) { return cost + number * sizeof(std::int64_t); };
  return {bytes(most_rows, samples), bytes(usual_rows, plan.mean_rows()), beside(usual_rows, plan.mean_rows()),
          beside(most_rows, samples)};
}

/// Most bytes of a batch: in file order those of the largest stretch, which may hold all long samples. A token budget
/// bounds the rows of ragged fields: what is left to count are the others'.
std::uint64_t largest_bytes(const MappedSource& mapped, const EnginePlan& plan, std::uint64_t rows) {
  if (!plan.budget)
    return plan.sampler->traits().in_file_order ? largest_run_bytes(mapped, rows)
                                                : mapped.sizes.largest_batch_bytes(rows);
  const std::size_t arrays = mapped.fields->size() + (mapped.program ? mapped.program->staged_fields().size() : 0);
  const std::uint64_t bytes =
      plan.budget->most_cost() * mapped.sizes.ragged_row_bytes + rows * mapped.sizes.fixed_bytes;
  return std::min(bytes, mapped.sizes.most_bytes * rows) + arrays * kCacheLineBytes;
}

/// Memory that may be used, and what of it is spoken for whatever is kept.
struct Room {
  std::uint64_t limit_bytes, fixed_bytes;
};

/// Keep decoded units in the part of the budget that the batches leave. Where all of them fit, they come before a long
/// window, which only saves decoding again what is not kept: docs/decisions/0027. Else boxes that are drawn one by one
/// share the memory between window and cache as decodes least: docs/decisions/0028; visits need the window.
void plan_kept_units(const MappedSource& mapped, const KeptUnits& units, Room room, const MappedWindow& window,
                     EnginePlan& plan) {
  // Units that are read while the last one is put there.
  const std::uint64_t beside =
      room.fixed_bytes + plan.threads * units.dense_bytes + (plan.threads + 1) * units.largest_bytes;
  const std::uint64_t direct = plan.direct_window_slots(), all = units.all_bytes;
  const auto left = [&](std::uint64_t slots) {
    return room.limit_bytes - std::min(beside + window.bytes_of(slots), room.limit_bytes);
  };
  plan.keeps_all_units = all <= left(direct);
  if (plan.keeps_all_units) {
    plan.slots = std::max(window.slots_in(room.limit_bytes - beside - all, plan.wanted_slots), direct);
  } else if (plan.draws_samples() && !plan.boxes->visits()) {
    const auto decoded = [&](std::uint64_t slots) {
      const double waiting =
          static_cast<double>(slots - std::min(slots, SlotPool::kHeldSlots)) * static_cast<double>(plan.mean_rows());
      return decoded_bytes_of_drawn(mapped, waiting, static_cast<double>(left(slots)) / static_cast<double>(all));
    };
    // It falls, or rises, all the way.
    if (direct < plan.slots && decoded(direct) < decoded(plan.slots)) plan.slots = direct;
  }
  const std::uint64_t rest = left(plan.slots);
  if (rest < all && rest < kLeastKeptUnits * units.largest_bytes) return;
  plan.tier = CacheTier::kSomeBlocks;
  plan.cache_bytes = std::min(rest, all);
  plan.kept_units = units.number;
  plan.keeping_bytes = plan.threads * units.dense_bytes;
  plan.tier_reason = "the part of the budget that the batches leave";
}

/// Keep all units, decoded before the first batch. Errors: kOutOfBudget.
Status plan_all_units(const MappedSource& mapped, const KeptUnits& units, const MappedWindow& window,
                      EnginePlan& plan) {
  const auto beside = [&] {  // units that are read while the last one is put there
    return window.fixed_bytes(plan.threads) + plan.threads * units.dense_bytes +
           (plan.threads + 1) * units.largest_bytes;
  };
  const std::uint64_t needed = window.bytes_of(kLeastSlots) + units.all_bytes;
  for (; plan.threads > 1 && beside() + needed > plan.budget_bytes; --plan.threads) plan.threads_reason = kFewerThreads;
  if (beside() + needed > plan.budget_bytes)
    return no_room_for_all_rows(mapped.groups[0].source->files[0].path, plan.budget_bytes, units.all_bytes,
                                beside() + window.bytes_of(kLeastSlots));
  plan.tier = CacheTier::kSomeBlocks;
  plan.tier_reason = "cache='ram'";
  plan.keeps_all_units = plan.preloads = true;
  plan.kept_units = units.number;
  plan.cache_bytes = units.all_bytes;
  plan.keeping_bytes = plan.threads * units.dense_bytes;
  plan.wanted_slots = plan.direct_window_slots();
  plan.slots = window.slots_in(plan.budget_bytes - beside() - units.all_bytes, plan.wanted_slots);
  return {};
}

}  // namespace

Status plan_mapped_memory(const MappedSource& mapped, const LoaderOptions& options, const PlanContext& context,
                          EnginePlan& plan) {
  const SampleMap& map = *mapped.map;
  const ServerNeed need = PartServer::need(mapped);
  const std::uint64_t rows = std::max<std::uint64_t>(plan.slot_rows(), 1);
  const std::uint64_t usual_rows = std::max<std::uint64_t>(plan.mean_rows(), 1);
  BatchBytes batch{largest_bytes(mapped, plan, rows),
                   std::max<std::uint64_t>(static_cast<std::uint64_t>(mapped.sizes.mean_bytes) * usual_rows, 64), 0};
  const PaddedRows padded = plan.padding ? padded_rows(mapped) : PaddedRows{};
  if (plan.padding) batch = plan.budget ? padded_budget_bytes(padded, plan, rows) : padded_bytes(padded, rows);
  if (plan.delivers_valid)
    batch.beside = batch.largest_beside = rows * plan.boxes->box_elements(0) * map.groups().size();
  const std::uint64_t largest = batch.largest, mean = std::min(batch.mean, largest);
  const std::uint64_t parts = usual_rows * map.usual_parts();
  const std::uint64_t order = plan.sampler->memory_bytes(plan.share) + map.shuffle_blocks()->memory_bytes() +
                              map.memory_bytes() + map.num_units() * kUnitBytes +
                              map.shuffle_blocks()->num_blocks() * kCountersOfBlockBytes +
                              kLeastSlots * (batch.largest_beside - batch.beside);
  const std::uint64_t thread = need.scratch_bytes + need.read_buffer_bytes,
                      bookkeeping = parts * kPartBytes + batch.beside + derived_bytes(plan, rows);
  plan.staging_bytes = staging_bytes(options, std::min(largest, 2 * mean));
  const std::uint64_t least = order + plan.staging_bytes + thread + kLeastSlots * (largest + bookkeeping);
  if (least > plan.budget_bytes) {
    Error error = too_small_a_budget(mapped.groups[0].source->files[0].path, plan.budget_bytes,
                                     {largest + bookkeeping, thread, order, plan.staging_bytes}, least,
                                     plan.budget ? "a smaller budget of tokens" : "a smaller batch_size");
    if (!plan.padding || plan.budget) return error;
    return Error(error.code(), fmt::format("sample {} has {} rows, and padding fills all {} samples of its batch "
                                           "up to that: {}",
                                           mapped.sizes.largest, group_digits(padded.longest), rows, error.message()))
        .with_file(error.file())
        .with_needed_bytes(least)
        .with_hint(error.hint() +
                   " Or use ragged batches (layout='ragged'), or "
                   "select() shorter samples by lengths().");
  }
  plan.threads = options.threads ? options.threads : context.cpus.count;
  plan.threads_reason = options.threads ? "threads=" : context.cpus.reason;
  while (plan.threads > 1 && least + (plan.threads - 1) * thread > plan.budget_bytes) {
    --plan.threads;
    plan.threads_reason = kFewerThreads;
  }
  plan.wanted_slots = std::min(plan.steps->span_steps() + SlotPool::kHeldSlots + kReadAheadBatches,
                               2 * std::max<std::uint64_t>(plan.num_batches, 1) + SlotPool::kHeldSlots);
  if (map.block_units() == SampleMap::BlockUnits::kByEpoch)
    plan.wanted_slots = std::min(plan.wanted_slots, SlotPool::kHeldSlots + plan.visit_slots());
  if (map.block_units() == SampleMap::BlockUnits::kUnknown)  // no order brings them nearer to each other
    plan.wanted_slots = SlotPool::kHeldSlots + std::max(kDrawnWindowBytes / mean, kReadAheadBatches);
  const MappedWindow window{largest, mean, bookkeeping, order, plan.staging_bytes, thread};
  HEADRACE_ASSIGN(const bool has_stores, plan_mapped_stores(mapped, window, options, context, plan));
  if (!has_stores) {
    // The arena takes what is left, but no more than the wanted window can fill; slots are counted by their mean.
    const std::uint64_t fixed = window.fixed_bytes(plan.threads);
    plan.slots = window.slots_in(plan.budget_bytes - fixed, plan.wanted_slots);
    plan.tier = CacheTier::kNothing;
    plan.tier_reason = fmt::format("{} are decoded anew in each epoch", mapped.what);
    plan.data_bytes = mapped.stored_sample_bytes * map.shuffle_blocks()->num_rows();
    const bool asked = options.cache.mode == CacheChoice::kRam,
               keeps = asked || options.cache.mode == CacheChoice::kAuto;
    const KeptUnits units = keeps ? count_kept_units(mapped) : KeptUnits{};
    if (mapped.boxes && keeps) plan.data_bytes = units.all_bytes;
    if (units.number > 0 && asked) {
      HEADRACE_TRY(plan_all_units(mapped, units, window, plan));
    } else if (units.number > 0) {
      plan_kept_units(mapped, units, {std::min(plan.budget_bytes, context.room.free_bytes), fixed}, window, plan);
    } else if (keeps) {
      plan.tier_reason =
          fmt::format("{} are stored as they are delivered, and the system keeps what it read", mapped.what);
    } else if (options.cache.mode == CacheChoice::kDirectory) {
      plan.tier_reason = "see WARNING";
    }
  }
  const std::uint64_t arena = std::max(plan.slots * mean, kLeastSlots * largest);
  plan.slot_bytes = (arena + plan.slots - 1) / plan.slots;
  plan.scratch_bytes = plan.threads * need.scratch_bytes;
  plan.read_buffer_bytes = plan.threads * need.read_buffer_bytes;
  plan.slot_index_bytes = bookkeeping;
  plan.index_bytes = order + plan.slots * bookkeeping;
  return {};
}

}  // namespace headrace
