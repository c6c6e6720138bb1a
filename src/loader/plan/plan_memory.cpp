#include "loader/plan/plan_memory.h"

#include <fmt/format.h>
#include <headrace/bytes.h>

#include <algorithm>
#include <bit>

#include "assembly/servers/block_server.h"
#include "assembly/window/request_list.h"
#include "cache/row_store.h"
#include "dataset/recipe/refuse.h"
#include "delivery/slot_pool.h"
#include "loader/plan/derived_columns.h"
#include "loader/plan/plan_mapped_memory.h"

namespace headrace {
namespace {

// The window's bookkeeping, vectors' slack included: for a row, packed or not, for rows of one block in one batch, for
// a block in the window.
constexpr std::uint64_t kPackedBytes = 8, kRequestBytes = 16, kRunBytes = 32, kStateBytes = 192;
// Bytes of a slot, whatever it holds: itself, its place in the ring, and what the allocator adds to its lists.
constexpr std::uint64_t kSlotBytes = sizeof(WindowSlot) + 64;
constexpr std::uint64_t kBlockIndexBytes = 24;  // two tables of an index a block, places, and when it is used next
constexpr std::uint64_t kFirstCacheShare = 8;   // of all blocks encoded, that the cache begins with room for
constexpr std::uint64_t kLeastKeptBlocks = 4;   // a smaller cache is not worth its scratch

/// Rows of the files that lie in the table's blocks.
std::uint64_t stored_rows(const BlockTable& blocks) {
  if (!blocks.is_chosen()) return blocks.num_rows();
  std::uint64_t rows = 0;
  for (std::uint64_t b = 0; b < blocks.num_blocks(); ++b) rows += blocks.place(b).rows.count;
  return rows;
}

/// \param batch_rows  Most of a batch.
std::uint64_t request_bytes(const BlockTable& blocks, std::uint64_t batch_rows) {
  const bool packed = RequestList::are_packed(RequestList::item_bits(blocks.max_stored_block_rows()), batch_rows);
  return packed ? kPackedBytes : kRequestBytes;
}

class MemoryPlanner {
 public:
  MemoryPlanner(const Source& source, const LoaderOptions& options, const PlanContext& context, EnginePlan& plan)
      : source_(source),
        options_(options),
        context_(context),
        plan_(plan),
        blocks_(plan.blocks),
        runs_(std::min(plan.slot_rows(), blocks_->num_blocks())),
        bookkeeping_(plan.slot_rows() * request_bytes(*blocks_, plan.slot_rows()) + runs_ * kRunBytes + kSlotBytes +
                     SlotPool::bookkeeping_bytes(source.fields->size() + source.num_staged()) +
                     derived_bytes(plan, plan.slot_rows())),
        order_bytes_(plan.sampler->memory_bytes(plan.share) + blocks_->memory_bytes() +
                     blocks_->num_blocks() * kBlockIndexBytes),
        block_bytes_(std::max<std::uint64_t>(plan.layout.most_stored_rows() * source.row_bytes(), 1)) {
    plan_.slot_bytes = SlotPool::slot_bytes(source.slot_fields(), plan.slot_rows());
    plan_.staging_bytes = staging_bytes(options, plan_.slot_bytes);
    plan_.data_bytes = stored_rows(*blocks_) * source.row_bytes();
    find_need();
  }

  Status plan() {
    if (options_.cache.mode == CacheChoice::kDirectory) {
      plan_.tier = CacheTier::kDirectory;
      plan_.gather_ready = context_.gather_ready;
      if (fills_directory() && context_.directory_in_memory) plan_.cache_bytes = plan_.data_bytes;
    }
    HEADRACE_TRY(plan_threads());
    plan_side_chunks();
    plan_wanted_slots();
    HEADRACE_TRY(plan_all_rows());
    plan_.slots = slots_in(plan_.budget_bytes - around() - plan_.cache_bytes);
    if (plan_.tier == CacheTier::kNothing && options_.cache.mode == CacheChoice::kAuto) plan_some_blocks();
    if (plan_.tier == CacheTier::kSomeBlocks || fills_directory())
      plan_.keeping_bytes = plan_.threads * need_.dense_bytes;
    if (plan_.tier == CacheTier::kSomeBlocks && plan_.coding != BlockCoding::kRaw)
      plan_.keeping_bytes += plan_.threads * need_.coded_bytes;
    plan_.scratch_bytes = plan_.threads * need_.scratch_bytes;
    plan_.read_buffer_bytes = plan_.threads * need_.read_buffer_bytes;
    plan_.slot_index_bytes = bookkeeping_;
    plan_.index_bytes = plan_.slots * bookkeeping_ + states_bytes(plan_.slots) + order_bytes_;
    return {};
  }

 private:
  /// What is needed beside the slots.
  [[nodiscard]] std::uint64_t fixed(std::uint64_t threads) const {
    const std::uint64_t keeping = fills_directory() ? need_.dense_bytes : 0;
    return threads * (need_.scratch_bytes + need_.read_buffer_bytes + keeping) + plan_.layout.resident_bytes +
           order_bytes_ + plan_.staging_bytes;
  }
  [[nodiscard]] std::uint64_t around() const {
    return fixed(plan_.threads) + plan_.side_chunks_bytes + plan_.side_chunks_in_use_bytes;
  }
  /// Return the bytes of the states of blocks that wait for rows of so many slots: two epochs' at most.
  [[nodiscard]] std::uint64_t states_bytes(std::uint64_t slots) const {
    return std::min(2 * blocks_->num_blocks(), slots * runs_) * kStateBytes;
  }
  [[nodiscard]] std::uint64_t slots_bytes(std::uint64_t slots) const {
    return slots * (plan_.slot_bytes + bookkeeping_) + states_bytes(slots);
  }
  [[nodiscard]] std::uint64_t least_slots() const { return slots_bytes(kLeastSlots); }
  /// With which so many threads can work.
  [[nodiscard]] std::uint64_t least(std::uint64_t threads) const {
    return fixed(threads) + least_slots() + plan_.cache_bytes;
  }
  /// As many as fit.
  [[nodiscard]] std::uint64_t slots_in(std::uint64_t bytes) const {
    const std::uint64_t slot = plan_.slot_bytes + bookkeeping_, all_states = 2 * blocks_->num_blocks() * kStateBytes;
    const std::uint64_t few = bytes / (slot + runs_ * kStateBytes);
    const std::uint64_t many = bytes > all_states ? (bytes - all_states) / slot : 0;
    return std::min(std::max(plan_.wanted_slots, kLeastSlots), std::max(few, many));
  }
  /// Memory that keeps all rows.
  [[nodiscard]] std::uint64_t all_rows_bytes() const {
    return RowStore::pages_for(stored_rows(*blocks_), *source_.columns, blocks_->num_blocks());
  }
  [[nodiscard]] bool fills_directory() const { return plan_.tier == CacheTier::kDirectory && !context_.cache_is_whole; }
  /// What keeps rows is never taken from others.
  [[nodiscard]] std::uint64_t own_limit() const { return std::min(plan_.budget_bytes, context_.room.free_bytes); }

  void drop_resident_arrays() {
    plan_.layout = plan_layout(source_, 0);
    find_need();
  }
  void find_need() {
    need_ = BlockServer::need(source_, plan_.layout);
    need_.scratch_bytes += blocks_->max_block_rows() * sizeof(Request);  // of a claim, unpacked
  }

  Status plan_threads() {
    if (plan_.layout.resident_bytes > 0 && least(1) > plan_.budget_bytes) drop_resident_arrays();  // a luxury
    if (fills_directory() && least(1) > own_limit()) do_without_directory();
    plan_.threads = options_.threads ? options_.threads : context_.cpus.count;
    plan_.threads_reason = options_.threads ? "threads=" : context_.cpus.reason;
    while (plan_.threads > 1 && least(plan_.threads) > plan_.budget_bytes) {
      --plan_.threads;
      plan_.threads_reason = kFewerThreads;
    }
    const std::uint64_t smallest = fixed(1) + least_slots();
    if (smallest <= plan_.budget_bytes) return {};
    const std::uint64_t rows = options_.cache.mode == CacheChoice::kRam ? all_rows_bytes() : 0;
    return too_small_a_budget(
        source_.files[0].path, plan_.budget_bytes,
        {plan_.slot_bytes, need_.scratch_bytes + need_.read_buffer_bytes, order_bytes_, plan_.staging_bytes},
        smallest + rows);
  }

  void do_without_directory() {
    const std::uint64_t wanted = least(1);
    const std::string& directory = options_.cache.directory;
    std::string why =
        plan_.cache_bytes > 0
            ? fmt::format("{} is in memory (tmpfs), so its {} of rows count as this loader's memory", directory,
                          format_bytes(plan_.cache_bytes))
            : fmt::format("the cache in {} needs {} for its largest block", directory, format_bytes(need_.dense_bytes));
    plan_.tier = CacheTier::kNothing;
    plan_.cache_bytes = 0;
    if (least(1) <= plan_.budget_bytes)
      plan_.warnings.push_back(fmt::format("{}: the cache is not used. It needs at least memory={} (just over {})", why,
                                           wanted, format_bytes(wanted)));
  }

  /// What straddles is worth keeping where a chunk for each thread, and another, fit beside the slots.
  void plan_side_chunks() {
    const StraddlingNeed straddling = straddling_need(source_, plan_.layout);
    const std::uint64_t in_use = plan_.threads * straddling.largest_chunk_bytes;
    const std::uint64_t limit = std::min(plan_.budget_bytes / kResidentShare - plan_.layout.resident_bytes,
                                         plan_.budget_bytes - least(plan_.threads));
    if (straddling.largest_chunk_bytes == 0 || in_use + straddling.largest_chunk_bytes > limit) return;
    plan_.side_chunks_in_use_bytes = in_use;
    plan_.side_chunks_bytes = std::min(limit - in_use, straddling.bytes);
  }

  /// With this many slots every block is decoded once: the order's span, what the consumer holds, and some ahead.
  void plan_wanted_slots() {
    plan_.wanted_slots = plan_.steps->span_steps() + SlotPool::kHeldSlots + kReadAheadBatches;
    if (options_.order.is<InOrder>())
      plan_.wanted_slots += 2 * plan_.threads * (blocks_->max_block_rows() / plan_.global_batch + 1);
    plan_.wanted_slots =
        std::min(plan_.wanted_slots, 2 * std::max<std::uint64_t>(plan_.num_batches, 1) + SlotPool::kHeldSlots);
    if (plan_.tier == CacheTier::kDirectory && plan_.gather_ready) plan_.wanted_slots = plan_.direct_window_slots();
  }

  /// Does everything fit in memory, and is it wanted there?
  Status plan_all_rows() {
    const bool host = options_.share == Share::kHost;
    if (options_.cache.mode == CacheChoice::kDirectory || options_.cache.mode == CacheChoice::kNone) return {};
    const bool asked = options_.cache.mode == CacheChoice::kRam;
    const std::uint64_t rows_bytes = all_rows_bytes();
    const std::uint64_t limit = asked ? plan_.budget_bytes : own_limit();
    if (asked) give_up_luxuries(limit - std::min(limit, rows_bytes));
    const std::uint64_t beside = around() + slots_bytes(asked ? kLeastSlots : plan_.direct_window_slots());
    if (beside + rows_bytes <= limit) {
      plan_.tier = host ? CacheTier::kHostRows : CacheTier::kAllRows;
      plan_.cache_bytes = rows_bytes;
      plan_.wanted_slots = plan_.direct_window_slots();
      plan_.gathers = true;
      plan_.preloads = asked;
      plan_.tier_reason = asked ? "cache='ram'" : "all of it fits the budget";
      return {};
    }
    if (host && limit > beside) {  // as much of it as there is room for
      plan_.tier = CacheTier::kHostRows;
      plan_.cache_bytes = limit - beside;
      plan_.wanted_slots = std::max(plan_.wanted_slots, plan_.direct_window_slots());
      plan_.tier_reason = "the part of the budget that the batches leave, for all processes of this host";
      return {};
    }
    if (!asked) return {};
    return no_room_for_all_rows(source_.files[0].path, plan_.budget_bytes, rows_bytes, beside);
  }

  /// Do without what is not needed until the least that can work fits `limit`.
  void give_up_luxuries(std::uint64_t limit) {
    const auto fits = [&] { return around() + least_slots() <= limit; };
    if (!fits()) plan_.side_chunks_bytes = plan_.side_chunks_in_use_bytes = 0;
    if (!fits() && plan_.layout.resident_bytes > 0) drop_resident_arrays();
    for (; plan_.threads > 1 && !fits(); --plan_.threads) plan_.threads_reason = kFewerThreads;
  }

  /// The coding that pays in so much memory for encoded blocks; null: none, or not known.
  [[nodiscard]] const CodingTrial* coding_for(std::uint64_t decoded_bytes, std::uint64_t encoded_bytes) const {
    if (!context_.probe) return nullptr;
    const auto data = static_cast<double>(std::max(plan_.data_bytes, block_bytes_));
    return choose_coding(context_.probe->trials,
                         {context_.probe->miss_ns, plan_.expected_decodes(), static_cast<double>(decoded_bytes) / data,
                          static_cast<double>(encoded_bytes) / data});
  }

  /// The window comes first; what it cannot use keeps blocks. Caches of others are not asked for memory.
  void plan_some_blocks() {
    const std::uint64_t limit = own_limit();
    // Blocks that are read while they are evicted stay a little longer.
    const std::uint64_t apart =
        around() + plan_.threads * (need_.dense_bytes + need_.coded_bytes) + (plan_.threads + 1) * block_bytes_;
    const std::uint64_t rest = limit - std::min(limit, apart + slots_bytes(plan_.slots));
    const std::uint64_t direct = slots_bytes(plan_.direct_window_slots());
    const CodingTrial* coded = coding_for(rest, limit - std::min(limit, apart + direct));
    const auto all_coded = static_cast<std::uint64_t>(static_cast<double>(plan_.data_bytes) *
                                                      (coded ? coded->coded_share * kCodedSlack : 1));
    if (coded && apart + direct + all_coded <= limit) {
      // All of it, encoded. Once it is there rows are decoded one by one, and a long window saves nothing; until then
      // it saves decoding blocks again. So the window begins long, and gives way as the cache grows.
      plan_.tier = CacheTier::kSomeBlocks;
      plan_.fits_encoded = true;
      const std::uint64_t first = std::max(context_.kept_bytes, all_coded / kFirstCacheShare);
      plan_.slots = std::max(slots_in(limit - apart - std::min(first, all_coded)), plan_.direct_window_slots());
      // All that is left: blocks may be less alike than those that were tried.
      plan_.cache_bytes = std::min(limit - apart - slots_bytes(plan_.slots), plan_.data_bytes + plan_.data_bytes / 64);
    } else if (rest >= kLeastKeptBlocks * block_bytes_) {
      plan_.tier = CacheTier::kSomeBlocks;
      plan_.cache_bytes = std::min(rest, plan_.data_bytes + plan_.data_bytes / 64);
      coded = coding_for(rest, rest);
    }
    if (coded && plan_.tier == CacheTier::kSomeBlocks)
      plan_.coding = coded->coding, plan_.coded_share = coded->coded_share;
  }

  const Source& source_;
  const LoaderOptions& options_;
  const PlanContext& context_;
  EnginePlan& plan_;
  const std::shared_ptr<const BlockTable> blocks_;
  const std::uint64_t runs_;         // of a slot, at most: one a block
  const std::uint64_t bookkeeping_;  // of a slot
  const std::uint64_t order_bytes_;  // of the order of the samples: pools, lists, chosen rows, an index of the blocks
  const std::uint64_t block_bytes_;  // of the largest block, as it is kept: whole
  ServerNeed need_;
};

}  // namespace

std::uint64_t staging_bytes(const LoaderOptions& options, std::uint64_t batch_bytes) {
  constexpr std::uint64_t kStarts = 4096;
  return options.staged_batches == 0 ? 0 : std::bit_ceil(options.staged_batches * (batch_bytes + kStarts));
}

Status plan_memory(const SampleSource& source, const LoaderOptions& options, const PlanContext& context,
                   EnginePlan& plan) {
  if (const MappedSource* const mapped = source.mapped()) return plan_mapped_memory(*mapped, options, context, plan);
  return MemoryPlanner(*source.rows(), options, context, plan).plan();
}

Error too_small_a_budget(const std::string& first_path, std::uint64_t budget_bytes, const LeastMemory& least,
                         std::uint64_t smallest_bytes, std::string_view needs_less) {
  const std::string staging = least.staging_bytes == 0 ? ""
                                                       : fmt::format(", staging on the way to the device ({})",
                                                                     format_bytes(least.staging_bytes));
  Error error(ErrorCode::kOutOfBudget,
              fmt::format("a budget of {} cannot hold two batches ({} each), the largest block of one thread ({}){} "
                          "and the order of the samples ({})",
                          format_bytes(budget_bytes), format_bytes(least.batch_bytes), format_bytes(least.thread_bytes),
                          staging, format_bytes(least.order_bytes)));
  error.with_file(first_path)
      .with_needed_bytes(smallest_bytes)
      .with_hint(fmt::format("The smallest budget is memory={} (just over {}); {} needs less.", smallest_bytes,
                             format_bytes(smallest_bytes), needs_less));
  return error;
}

Error no_room_for_all_rows(const std::string& first_path, std::uint64_t budget_bytes, std::uint64_t rows_bytes,
                           std::uint64_t beside_bytes) {
  const std::uint64_t needed = beside_bytes + rows_bytes;
  return Error(ErrorCode::kOutOfBudget,
               fmt::format("cache='ram' needs {} for the decoded data and {} to work with; the budget is {}",
                           format_bytes(rows_bytes), format_bytes(beside_bytes), format_bytes(budget_bytes)))
      .with_file(first_path)
      .with_needed_bytes(needed)
      .with_hint(
          fmt::format("Give memory={} ({}), or use cache='auto', which keeps what fits, re-encoded if that pays, "
                      "or cache='DIRECTORY' on a local disk.",
                      needed, format_bytes(needed)));
}

}  // namespace headrace
