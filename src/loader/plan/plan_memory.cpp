#include "loader/plan/plan_memory.h"

#include <fmt/format.h>
#include <headrace/bytes.h>

#include <algorithm>

#include "delivery/slot_pool.h"
#include "loader/plan/budget_errors.h"
#include "loader/plan/keep_need.h"
#include "loader/plan/window_need.h"
#include "storage/page_cache.h"

namespace headrace {
namespace {

constexpr std::uint64_t kFirstCacheShare = 8;  // of all blocks encoded, that the cache begins with room for
constexpr std::uint64_t kLeastKeptUnits = 4;   // a smaller cache is not worth its scratch
/// Batches of drawn samples that wait together share what is decoded for them. Twice as many were a quarter slower
/// where nothing is decoded: parts of a row come from neighbouring cells, and the row leaves the processor's cache in
/// between.
constexpr std::uint64_t kDrawnWindowBytes = 256 << 20;
constexpr std::uint64_t kMostHeldBytes = 64 << 20, kHeldShare = 16;  // of the budget, for what is read ahead
constexpr const char* kFewerThreads = "fewer than asked for: each thread needs scratch memory";

class MemoryPlanner {
 public:
  MemoryPlanner(const SampleSource& source, const LoaderOptions& options, const PlanContext& context, EnginePlan& plan)
      : source_(source), options_(options), context_(context), plan_(plan) {
    find_need();
  }

  Status plan() {
    plan_.data_bytes = keep_.data_bytes;
    plan_.staging_bytes = window_.staging_bytes;
    plan_.is_as_stored = keeps() && !keep_.has_stores();
    if (options_.cache.mode == CacheChoice::kDirectory && plan_.is_as_stored)
      plan_.warnings.push_back(
          fmt::format("{} are stored as they are delivered, and the system keeps what it read: the cache in {} is not "
                      "used",
                      source_.what(), options_.cache.directory));
    if (options_.cache.mode == CacheChoice::kDirectory && !plan_.is_as_stored) {
      plan_.tier = CacheTier::kDirectory;
      plan_.gather_ready = context_.gather_ready;
      if (fills_directory() && context_.directory_in_memory) plan_.cache_bytes = keep_.data_bytes;
    }
    HEADRACE_TRY(plan_threads());
    plan_reads_ahead();
    plan_side_chunks();
    plan_wanted_slots();
    HEADRACE_TRY(uses_stores() ? plan_all_rows() : plan_all_units());
    plan_.slots =
        window_.slots_in(plan_.budget_bytes - around() - units_in_use() - plan_.cache_bytes, plan_.wanted_slots);
    if (plan_.tier == CacheTier::kNothing && options_.cache.mode == CacheChoice::kAuto) plan_some_units();
    if (plan_.tier == CacheTier::kNothing) say_why_nothing_is_kept();
    finish();
    return {};
  }

 private:
  void find_need() {
    window_ = window_need(source_, options_, plan_);
    if (keeps()) keep_ = keep_need(source_, plan_);  // it counts blocks, which may be a million
  }
  [[nodiscard]] bool keeps() const { return options_.cache.mode != CacheChoice::kNone; }
  /// What is needed beside the slots.
  [[nodiscard]] std::uint64_t fixed(std::uint64_t threads) const {
    return window_.fixed_bytes(threads) + (fills_directory() ? threads * keep_.dense_bytes : 0) +
           plan_.layout.resident_bytes;
  }
  [[nodiscard]] std::uint64_t around() const {
    return fixed(plan_.threads) + plan_.side_chunks_bytes + plan_.side_chunks_in_use_bytes + plan_.held_ahead_bytes;
  }
  [[nodiscard]] std::uint64_t least_slots() const { return window_.bytes_of(kLeastSlots); }
  /// With which so many threads can work.
  [[nodiscard]] std::uint64_t least(std::uint64_t threads) const {
    return fixed(threads) + least_slots() + plan_.cache_bytes;
  }
  [[nodiscard]] bool fills_directory() const { return plan_.tier == CacheTier::kDirectory && !context_.cache_is_whole; }
  /// What keeps rows is never taken from others.
  [[nodiscard]] std::uint64_t own_limit() const { return std::min(plan_.budget_bytes, context_.room.free_bytes); }
  /// Beside units that are kept one by one: scratch, and those that are read while they are evicted, or while the last
  /// one is put there.
  [[nodiscard]] std::uint64_t beside_units(std::uint64_t threads) const {
    return threads * (keep_.units.dense_bytes + keep_.units.coded_bytes) + (threads + 1) * keep_.units.largest_bytes;
  }
  [[nodiscard]] std::uint64_t units_in_use() const {
    return plan_.tier == CacheTier::kSomeBlocks ? beside_units(plan_.threads) : 0;
  }

  /// Return true if all that is kept goes to stores: cells are kept one by one where one process has them, since those
  /// that were never written, or are stored as they are, take no memory then.
  [[nodiscard]] bool uses_stores() const {
    return keep_.has_stores() &&
           (!plan_.boxes || options_.cache.mode == CacheChoice::kDirectory || options_.share == Share::kHost);
  }

  /// Files of chunks are opened by those that read ahead, so their bytes are held, and so are those of file systems
  /// without a page cache; what other files have waits there. A small share: it is on its way for as long as a read
  /// takes.
  void plan_reads_ahead() {
    plan_.reads_in_flight = options_.reads_in_flight;
    const auto is_held = [](const Source* source) {
      const SourceFile& file = source->files[0];
      return std::ranges::any_of(file.arrays, [](const auto& array) { return array->has_chunk_files(); }) ||
             !learn_whether_pages_are_kept(file.path);
    };
    const std::vector<const Source*> stored = source_.stored();
    if (std::ranges::count_if(stored, is_held) == 0) return;  // of each: all file systems are looked at
    const std::uint64_t left = plan_.budget_bytes - least(plan_.threads);
    plan_.held_ahead_bytes = std::min({kMostHeldBytes, plan_.budget_bytes / kHeldShare, left / 2});
  }

  void drop_resident_arrays() {
    plan_.layout = plan_layout(source_, 0);
    find_need();
  }

  Status plan_threads() {
    if (plan_.layout.resident_bytes > 0 && least(1) > plan_.budget_bytes) drop_resident_arrays();  // a luxury
    if (fills_directory() && least(1) > own_limit()) do_without_directory();
    plan_.threads = options_.threads ? options_.threads : context_.cpus.count;
    plan_.threads_reason = options_.threads ? "threads=" : context_.cpus.reason;
    while (plan_.threads > 1 && least(plan_.threads) > plan_.budget_bytes) take_a_thread();
    const std::uint64_t smallest = fixed(1) + least_slots();
    return smallest <= plan_.budget_bytes ? Status() : Status(too_small(smallest + asked_for_bytes()));
  }
  void take_a_thread() {
    --plan_.threads;
    plan_.threads_reason = kFewerThreads;
  }

  /// Return the memory that cache='ram' takes beside the least that can work.
  [[nodiscard]] std::uint64_t asked_for_bytes() const {
    if (options_.cache.mode != CacheChoice::kRam) return 0;
    if (uses_stores()) return keep_.pages_bytes;
    return keep_.units.number > 0 ? keep_.units.all_bytes + beside_units(1) : 0;
  }

  [[nodiscard]] Error too_small(std::uint64_t smallest_bytes) const {
    Error error =
        too_small_a_budget(source_.first_path(), plan_.budget_bytes,
                           {window_.largest_bytes, window_.scratch_bytes + window_.read_buffer_bytes,
                            window_.order_bytes, window_.staging_bytes},
                           smallest_bytes, plan_.budget ? "a smaller budget of tokens" : "a smaller batch_size");
    if (window_.large_batch.empty()) return error;
    return Error(error.code(), fmt::format("{}: {}", window_.large_batch, error.message()))
        .with_file(error.file())
        .with_needed_bytes(smallest_bytes)
        .with_hint(fmt::format("{} Or {}.", error.hint(), window_.smaller_batches));
  }

  void do_without_directory() {
    const std::uint64_t needed = least(1);
    const std::string& directory = options_.cache.directory;
    std::string why =
        plan_.cache_bytes > 0
            ? fmt::format("{} is in memory (tmpfs), so its {} of rows count as this loader's memory", directory,
                          format_bytes(plan_.cache_bytes))
            : fmt::format("the cache in {} needs {} for its largest block", directory, format_bytes(keep_.dense_bytes));
    plan_.tier = CacheTier::kNothing;
    plan_.cache_bytes = 0;
    if (least(1) <= plan_.budget_bytes)
      plan_.warnings.push_back(fmt::format("{}: the cache is not used. It needs at least memory={} (just over {})", why,
                                           needed, format_bytes(needed)));
  }

  /// What straddles is worth keeping where a chunk for each thread, and another, fit beside the slots.
  void plan_side_chunks() {
    const Source* const rows = source_.rows();
    const StraddlingNeed straddling = rows ? straddling_need(*rows, plan_.layout) : StraddlingNeed{};
    const std::uint64_t in_use = plan_.threads * straddling.largest_chunk_bytes;
    const std::uint64_t limit = std::min(plan_.budget_bytes / kResidentShare - plan_.layout.resident_bytes,
                                         plan_.budget_bytes - least(plan_.threads));
    if (straddling.largest_chunk_bytes == 0 || in_use + straddling.largest_chunk_bytes > limit) return;
    plan_.side_chunks_in_use_bytes = in_use;
    plan_.side_chunks_bytes = std::min(limit - in_use, straddling.bytes);
  }

  /// With this many slots every block is decoded once: the order's span, what the consumer holds, and some ahead.
  void plan_wanted_slots() {
    constexpr std::uint64_t kHeld = SlotPool::kHeldSlots;
    const std::uint64_t two_epochs = 2 * std::max<std::uint64_t>(plan_.num_batches, 1) + kHeld;
    std::uint64_t slots = plan_.steps->span_steps() + kHeld + kReadAheadBatches;
    if (!plan_.map && options_.order.is<InOrder>())  // a thread goes through a block of its own
      slots += 2 * plan_.threads * (plan_.blocks->max_block_rows() / plan_.global_batch + 1);
    slots = std::min(slots, two_epochs);
    if (plan_.map && plan_.map->block_units() == SampleMap::BlockUnits::kByEpoch)
      slots = std::min(slots, kHeld + plan_.visit_slots());
    if (plan_.map && plan_.map->block_units() == SampleMap::BlockUnits::kUnknown) {  // no order brings them nearer
      const std::uint64_t each = window_.mean_bytes + window_.bookkeeping_bytes;
      slots = std::min(two_epochs, kHeld + std::max(kDrawnWindowBytes / each, kReadAheadBatches));
    }
    plan_.wanted_slots = slots;
    if (plan_.tier == CacheTier::kDirectory && plan_.gather_ready) plan_.wanted_slots = plan_.direct_window_slots();
  }

  /// Do all rows fit in memory, and are they wanted there?
  Status plan_all_rows() {
    if (options_.cache.mode == CacheChoice::kDirectory || options_.cache.mode == CacheChoice::kNone) return {};
    const bool host = options_.share == Share::kHost, asked = options_.cache.mode == CacheChoice::kRam;
    const std::uint64_t rows_bytes = keep_.pages_bytes;
    const std::uint64_t limit = asked ? plan_.budget_bytes : own_limit();
    if (asked) give_up_luxuries(limit - std::min(limit, rows_bytes));
    const std::uint64_t beside = around() + window_.bytes_of(asked ? kLeastSlots : plan_.direct_window_slots());
    const bool fits = beside + rows_bytes <= limit;
    if (!fits && !(host && limit > beside))
      return asked ? Status(no_room_for_all_rows(source_.first_path(), plan_.budget_bytes, rows_bytes, beside))
                   : Status();
    plan_.tier = host ? CacheTier::kHostRows : CacheTier::kAllRows;
    plan_.tier_reason = !fits   ? "the part of the budget that the batches leave, for all processes of this host"
                        : asked ? "cache='ram'"
                                : "all of it fits the budget";
    plan_.cache_bytes = fits ? rows_bytes : limit - beside;
    plan_.gathers = fits && !plan_.boxes;
    plan_.preloads = asked && fits;
    if (fits) plan_.wanted_slots = plan_.direct_window_slots();
    return {};
  }

  /// As plan_all_rows(), for units that are kept one by one, and only where it was asked for: else plan_some_units()
  /// finds what fits.
  Status plan_all_units() {
    const KeptUnits& units = keep_.units;
    if (options_.cache.mode != CacheChoice::kRam || units.number == 0) return {};
    give_up_luxuries(plan_.budget_bytes - std::min(plan_.budget_bytes, units.all_bytes), true);
    const std::uint64_t beside = around() + beside_units(plan_.threads) + least_slots();
    if (beside + units.all_bytes > plan_.budget_bytes)
      return no_room_for_all_rows(source_.first_path(), plan_.budget_bytes, units.all_bytes, beside);
    plan_.tier = CacheTier::kSomeBlocks;
    plan_.tier_reason = "cache='ram'";
    plan_.cache_bytes = units.all_bytes;
    plan_.keeps_all_units = plan_.preloads = true;
    plan_.wanted_slots = plan_.direct_window_slots();
    return {};
  }

  /// Do without what is not needed until the least that can work fits `limit`.
  void give_up_luxuries(std::uint64_t limit, bool one_by_one = false) {
    const auto fits = [&] {
      return around() + (one_by_one ? beside_units(plan_.threads) : 0) + least_slots() <= limit;
    };
    if (!fits()) plan_.side_chunks_bytes = plan_.side_chunks_in_use_bytes = 0;
    if (!fits() && plan_.layout.resident_bytes > 0) drop_resident_arrays();
    while (plan_.threads > 1 && !fits()) take_a_thread();
  }

  /// The coding that pays in so much memory for encoded blocks; null: none, or not known.
  [[nodiscard]] const CodingTrial* coding_for(std::uint64_t decoded_bytes, std::uint64_t encoded_bytes) const {
    if (!context_.probe) return nullptr;
    const auto data = static_cast<double>(std::max(plan_.data_bytes, keep_.units.largest_bytes));
    return choose_coding(context_.probe->trials,
                         {context_.probe->miss_ns, plan_.expected_decodes(), static_cast<double>(decoded_bytes) / data,
                          static_cast<double>(encoded_bytes) / data});
  }

  /// Keep decoded units in the part of the budget that the batches leave; caches of others are not asked for memory.
  /// Where all of them fit, encoded or not, they come before a long window, which only saves decoding again what is not
  /// kept: docs/decisions/0027. Else boxes that are drawn one by one share the memory between window and cache as
  /// decodes least: docs/decisions/0028; visits need the window, and so do rows.
  void plan_some_units() {
    const KeptUnits& units = keep_.units;
    if (units.number == 0) return;
    const std::uint64_t limit = own_limit(), direct = plan_.direct_window_slots();
    const std::uint64_t apart = around() + beside_units(plan_.threads);
    const auto left = [&](std::uint64_t slots) { return limit - std::min(limit, apart + window_.bytes_of(slots)); };
    const CodingTrial* coded = coding_for(left(plan_.slots), left(direct));
    const auto all_coded =
        coded ? static_cast<std::uint64_t>(static_cast<double>(plan_.data_bytes) * coded->coded_share * kCodedSlack)
              : units.all_bytes;
    if (coded && all_coded <= left(direct)) {
      // Once all are there, rows are decoded one by one, and a long window saves nothing; until then it saves decoding
      // blocks again. So the window begins long, and gives way as the cache grows.
      plan_.fits_encoded = true;
      const std::uint64_t first = std::max(context_.kept_bytes, all_coded / kFirstCacheShare);
      plan_.slots = std::max(window_.slots_in(limit - apart - std::min(first, all_coded), plan_.wanted_slots), direct);
      // All that is left: blocks may be less alike than those that were tried.
      plan_.cache_bytes = std::min(left(plan_.slots), units.all_bytes + units.all_bytes / 64);
    } else {
      plan_.keeps_all_units = units.all_bytes <= left(direct);
      if (plan_.keeps_all_units)
        plan_.slots = std::max(window_.slots_in(limit - apart - units.all_bytes, plan_.wanted_slots), direct);
      else if (direct < plan_.slots && decodes_less_by_keeping(left(direct), direct, left(plan_.slots)))
        plan_.slots = direct;
      const std::uint64_t rest = left(plan_.slots);
      if (rest < units.all_bytes && rest < kLeastKeptUnits * units.largest_bytes) return;
      plan_.cache_bytes = std::min(rest, units.all_bytes);
      coded = coding_for(rest, rest);
    }
    plan_.tier = CacheTier::kSomeBlocks;
    plan_.tier_reason = "the part of the budget that the batches leave";
    if (coded) plan_.coding = coded->coding, plan_.coded_share = coded->coded_share;
  }

  /// Return true where boxes that are drawn one by one are decoded less often with a short window of `direct` slots and
  /// `kept_bytes` of cells beside it than with the planned one and `kept_then_bytes`. It falls, or rises, all the way.
  [[nodiscard]] bool decodes_less_by_keeping(std::uint64_t kept_bytes, std::uint64_t direct,
                                             std::uint64_t kept_then_bytes) const {
    if (!plan_.draws_samples() || plan_.boxes->visits()) return false;
    const auto decoded = [&](std::uint64_t slots, std::uint64_t kept) {
      const double waiting =
          static_cast<double>(slots - std::min(slots, SlotPool::kHeldSlots)) * static_cast<double>(plan_.mean_rows());
      return decoded_bytes_of_drawn(*source_.mapped(), waiting,
                                    static_cast<double>(kept) / static_cast<double>(keep_.units.all_bytes));
    };
    return decoded(direct, kept_bytes) < decoded(plan_.slots, kept_then_bytes);
  }

  void say_why_nothing_is_kept() {
    const CacheChoice::Mode mode = options_.cache.mode;
    const bool as_stored = keep_.units.number == 0 && (mode == CacheChoice::kAuto || mode == CacheChoice::kRam);
    plan_.tier_reason =
        mode == CacheChoice::kDirectory ? "see WARNING"
        : as_stored
            ? fmt::format("{} are stored as they are delivered, and the system keeps what it read", source_.what())
            : fmt::format("{} are decoded anew in each epoch", source_.what());
  }

  void finish() {
    if (plan_.tier == CacheTier::kSomeBlocks) {
      const bool encodes = plan_.coding != BlockCoding::kRaw;
      plan_.kept_units = keep_.units.number;
      plan_.keeping_bytes = plan_.threads * (keep_.units.dense_bytes + (encodes ? keep_.units.coded_bytes : 0));
    } else if (fills_directory()) {
      plan_.keeping_bytes = plan_.threads * keep_.dense_bytes;
    }
    plan_.slot_bytes = (window_.arena_bytes(plan_.slots) + plan_.slots - 1) / plan_.slots;
    plan_.scratch_bytes = plan_.threads * window_.scratch_bytes;
    plan_.read_buffer_bytes = plan_.threads * window_.read_buffer_bytes + plan_.held_ahead_bytes;
    plan_.slot_index_bytes = window_.bookkeeping_bytes;
    plan_.index_bytes = window_.index_bytes(plan_.slots) + window_.order_bytes;
  }

  const SampleSource& source_;
  const LoaderOptions& options_;
  const PlanContext& context_;
  EnginePlan& plan_;
  WindowNeed window_;
  KeepNeed keep_;
};

}  // namespace

Status plan_memory(const SampleSource& source, const LoaderOptions& options, const PlanContext& context,
                   EnginePlan& plan) {
  return MemoryPlanner(source, options, context, plan).plan();
}

}  // namespace headrace
