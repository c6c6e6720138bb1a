// The part of a plan for mapped samples that keeps all rows: in memory, in memory that a host shares, or in a
// directory.
#pragma once

#include <algorithm>
#include <cstdint>

#include "assembly/mapped_source.h"
#include "loader/plan/engine_plan.h"
#include "loader/plan/plan_memory.h"

namespace headrace {

/// What batches of mapped samples, and the threads that make them, take. The batches share an arena: slots are counted
/// by their mean, and the least that can work are the largest.
struct MappedWindow {
  std::uint64_t largest_bytes = 0, mean_bytes = 0;  ///< Bytes of a batch.
  std::uint64_t bookkeeping_bytes = 0;              ///< Bytes of a slot beside them.
  std::uint64_t order_bytes = 0;                    ///< Whatever the slots and threads.
  std::uint64_t staging_bytes = 0;
  std::uint64_t thread_bytes = 0;

  [[nodiscard]] std::uint64_t fixed_bytes(std::uint64_t threads) const {
    return order_bytes + staging_bytes + threads * thread_bytes;
  }
  [[nodiscard]] std::uint64_t bytes_of(std::uint64_t slots) const {
    return std::max(slots * mean_bytes, kLeastSlots * largest_bytes) + slots * bookkeeping_bytes;
  }
  /// Return the slots that fit, no more than the `wanted` ones.
  [[nodiscard]] std::uint64_t slots_in(std::uint64_t bytes, std::uint64_t wanted) const {
    const std::uint64_t above_mean = kLeastSlots * (largest_bytes - mean_bytes);
    const std::uint64_t fitting = (bytes - std::min(bytes, above_mean)) / (mean_bytes + bookkeeping_bytes);
    return std::clamp(fitting, kLeastSlots, std::max(wanted, kLeastSlots));
  }
};

/// Plan stores of all rows, after threads and wanted slots, where the options ask for them or they fit. \return False:
/// none; nothing of the plan was changed then but warnings. Errors: kOutOfBudget with the smallest budget that would
/// do.
Result<bool> plan_mapped_stores(const MappedSource& mapped, const MappedWindow& window, const LoaderOptions& options,
                                const PlanContext& context, EnginePlan& plan);

}  // namespace headrace
