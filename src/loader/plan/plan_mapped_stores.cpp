#include "loader/plan/plan_mapped_stores.h"

#include <fmt/format.h>
#include <headrace/bytes.h>

#include "assembly/servers/block_server.h"
#include "cache/row_store.h"

namespace headrace {
namespace {

/// What the rows of all groups take.
struct StoresNeed {
  std::uint64_t pages_bytes = 0;  ///< In memory.
  std::uint64_t data_bytes = 0;
  std::uint64_t dense_bytes = 0;  ///< What a thread takes, for blocks on their way to files.
};

StoresNeed need_of(const MappedSource& mapped) {
  StoresNeed need;
  for (const SourceGroup& group : mapped.groups) {
    const BlockTable& blocks = *group.layout.table;
    need.pages_bytes += RowStore::pages_for(blocks.num_rows(), *group.source->columns, blocks.num_blocks());
    need.data_bytes += blocks.num_rows() * group.source->row_bytes();
    need.dense_bytes += BlockServer::need(*group.source, group.layout).dense_bytes;
  }
  return need;
}

/// Take threads away while more than `bytes` are needed beside their own.
void fit_threads(const MappedWindow& window, std::uint64_t bytes, std::uint64_t more_of_thread, EnginePlan& plan) {
  while (plan.threads > 1 &&
         window.fixed_bytes(plan.threads) + plan.threads * more_of_thread + bytes > plan.budget_bytes) {
    --plan.threads;
    plan.threads_reason = kFewerThreads;
  }
}

bool plan_directory(const MappedWindow& window, const StoresNeed& need, const LoaderOptions& options,
                    const PlanContext& context, EnginePlan& plan) {
  const bool fills = !context.cache_is_whole;
  const std::uint64_t dense = fills ? need.dense_bytes : 0;
  const std::uint64_t in_memory = fills && context.directory_in_memory ? need.data_bytes : 0;
  const std::uint64_t beside = window.bytes_of(kLeastSlots) + in_memory;
  const std::uint64_t least = window.fixed_bytes(1) + dense + beside;
  if (fills && least > std::min(plan.budget_bytes, context.room.free_bytes)) {
    plan.warnings.push_back(fmt::format("the cache in {} is not used: it needs at least memory={} (just over {})",
                                        options.cache.directory, least, format_bytes(least)));
    return false;
  }
  fit_threads(window, beside, dense, plan);
  plan.tier = CacheTier::kDirectory;
  plan.gather_ready = context.gather_ready;
  plan.cache_bytes = in_memory;
  plan.keeping_bytes = plan.threads * dense;
  if (plan.gather_ready) plan.wanted_slots = plan.direct_window_slots();
  plan.slots = window.slots_in(plan.budget_bytes - window.fixed_bytes(plan.threads) - plan.keeping_bytes - in_memory,
                               plan.wanted_slots);
  return true;
}

}  // namespace

Result<bool> plan_mapped_stores(const MappedSource& mapped, const MappedWindow& window, const LoaderOptions& options,
                                const PlanContext& context, EnginePlan& plan) {
  const CacheChoice::Mode mode = options.cache.mode;
  if (mapped.boxes || mode == CacheChoice::kNone) return false;
  const StoresNeed need = need_of(mapped);
  const bool host = options.share == Share::kHost, asked = mode == CacheChoice::kRam;
  if (mode == CacheChoice::kDirectory) {
    if (!plan_directory(window, need, options, context, plan)) return false;
    plan.data_bytes = need.data_bytes;
    return true;
  }
  // What keeps rows is never taken from others.
  const std::uint64_t limit = asked ? plan.budget_bytes : std::min(plan.budget_bytes, context.room.free_bytes);
  if (asked) fit_threads(window, window.bytes_of(kLeastSlots) + need.pages_bytes, 0, plan);
  const std::uint64_t fixed = window.fixed_bytes(plan.threads);
  const std::uint64_t beside = fixed + window.bytes_of(asked ? kLeastSlots : plan.direct_window_slots());
  const bool fits = beside + need.pages_bytes <= limit;
  const bool shares_some = host && limit > beside;  // as much of it as there is room for
  if (!fits && !shares_some) {
    if (!asked) return false;
    return no_room_for_all_rows(mapped.groups[0].source->files[0].path, plan.budget_bytes, need.pages_bytes, beside);
  }
  plan.tier = host ? CacheTier::kHostRows : CacheTier::kAllRows;
  plan.tier_reason = asked  ? "cache='ram'"
                     : fits ? "all of it fits the budget"
                            : "the part of the budget that the batches leave, for all processes of this host";
  plan.data_bytes = need.data_bytes;
  plan.cache_bytes = fits ? need.pages_bytes : limit - beside;
  plan.gathers = fits;
  plan.preloads = asked && fits;
  const std::uint64_t direct = plan.direct_window_slots();
  if (fits) plan.wanted_slots = direct;
  plan.slots = window.slots_in(plan.budget_bytes - fixed - plan.cache_bytes, plan.wanted_slots);
  return true;
}

}  // namespace headrace
