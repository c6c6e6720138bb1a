#include "loader/plan/window_need.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "assembly/servers/block_server.h"
#include "assembly/servers/part_server.h"
#include "assembly/window/request_list.h"
#include "base/memory/align.h"
#include "base/text/number_text.h"
#include "delivery/slot_pool.h"
#include "loader/plan/derived_columns.h"

namespace headrace {
namespace {

// The window's bookkeeping of rows, vectors' slack included: for a row, packed or not, for rows of one block in one
// batch, for a block in the window.
constexpr std::uint64_t kPackedBytes = 8, kRequestBytes = 16, kRunBytes = 32, kStateBytes = 192;
// Bytes of a slot, whatever it holds: itself, its place in the ring, and what the allocator adds to its lists.
constexpr std::uint64_t kSlotBytes = sizeof(WindowSlot) + 64;
constexpr std::uint64_t kBlockIndexBytes = 24;  // two tables of an index a block, places, and when it is used next
// The same of mapped samples:
constexpr std::uint64_t kPartBytes = 96;   // of a part in the window: planned, filed under its unit, claimed
constexpr std::uint64_t kUnitBytes = 208;  // of a unit that a batch waits for, and how far its shuffle blocks are
constexpr std::uint64_t kCountersOfBlockBytes = 8;  // of a shuffle block, in two epochs

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

/// \param batch_rows  Most of a batch.
std::uint64_t request_bytes(const BlockTable& blocks, std::uint64_t batch_rows) {
  const bool packed = RequestList::are_packed(RequestList::item_bits(blocks.max_stored_block_rows()), batch_rows);
  return packed ? kPackedBytes : kRequestBytes;
}

WindowNeed need_of_rows(const Source& source, const EnginePlan& plan) {
  const BlockTable& blocks = *plan.blocks;
  const std::uint64_t rows = plan.slot_rows(), runs = std::min(rows, blocks.num_blocks());
  const ServerNeed server = BlockServer::need(source, plan.layout);
  WindowNeed need;
  need.largest_bytes = need.mean_bytes = SlotPool::slot_bytes(source.slot_fields(), rows);
  need.bookkeeping_bytes = rows * request_bytes(blocks, rows) + runs * kRunBytes + kSlotBytes +
                           SlotPool::bookkeeping_bytes(source.fields->size() + source.num_staged()) +
                           derived_bytes(plan, rows);
  need.states_bytes = runs * kStateBytes;
  need.most_states_bytes = 2 * blocks.num_blocks() * kStateBytes;  // of two epochs
  need.order_bytes =
      plan.sampler->memory_bytes(plan.share) + blocks.memory_bytes() + blocks.num_blocks() * kBlockIndexBytes;
  need.scratch_bytes = server.scratch_bytes + blocks.max_block_rows() * sizeof(Request);  // of a claim, unpacked
  need.read_buffer_bytes = server.read_buffer_bytes;
  return need;
}

WindowNeed need_of_mapped(const MappedSource& mapped, const EnginePlan& plan) {
  const SampleMap& map = *mapped.map;
  const ServerNeed server = PartServer::need(mapped);
  const std::uint64_t rows = std::max<std::uint64_t>(plan.slot_rows(), 1);
  const std::uint64_t usual_rows = std::max<std::uint64_t>(plan.mean_rows(), 1);
  BatchBytes batch{largest_bytes(mapped, plan, rows),
                   std::max<std::uint64_t>(static_cast<std::uint64_t>(mapped.sizes.mean_bytes) * usual_rows, 64), 0};
  WindowNeed need;
  if (plan.padding) {
    const PaddedRows padded = padded_rows(mapped);
    batch = plan.budget ? padded_budget_bytes(padded, plan, rows) : padded_bytes(padded, rows);
    if (!plan.budget) {
      need.large_batch = fmt::format("sample {} has {} rows, and padding fills all {} samples of its batch up to that",
                                     mapped.sizes.largest, group_digits(padded.longest), rows);
      need.smaller_batches = "use ragged batches (layout='ragged'), or select() shorter samples by lengths()";
    }
  }
  if (plan.delivers_valid)
    batch.beside = batch.largest_beside = rows * plan.boxes->box_elements(0) * map.groups().size();
  need.largest_bytes = batch.largest;
  need.mean_bytes = std::min(batch.mean, batch.largest);
  need.bookkeeping_bytes = usual_rows * map.usual_parts() * kPartBytes + batch.beside + derived_bytes(plan, rows);
  need.order_bytes = plan.sampler->memory_bytes(plan.share) + map.shuffle_blocks()->memory_bytes() +
                     map.memory_bytes() + map.num_units() * kUnitBytes +
                     map.shuffle_blocks()->num_blocks() * kCountersOfBlockBytes +
                     kLeastSlots * (batch.largest_beside - batch.beside);
  need.scratch_bytes = server.scratch_bytes;
  need.read_buffer_bytes = server.read_buffer_bytes;
  return need;
}

}  // namespace

WindowNeed window_need(const SampleSource& source, const LoaderOptions& options, const EnginePlan& plan) {
  WindowNeed need = source.rows() ? need_of_rows(*source.rows(), plan) : need_of_mapped(*source.mapped(), plan);
  need.staging_bytes = staging_bytes(options, std::min(need.largest_bytes, 2 * need.mean_bytes));
  return need;
}

std::uint64_t staging_bytes(const LoaderOptions& options, std::uint64_t batch_bytes) {
  constexpr std::uint64_t kStarts = 4096;
  return options.staged_batches == 0 ? 0 : std::bit_ceil(options.staged_batches * (batch_bytes + kStarts));
}

}  // namespace headrace
