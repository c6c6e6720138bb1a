#include "loader/plan/plan_for.h"

#include <algorithm>

#include "base/machine/own_cpus.h"
#include "dataset/dataset_contents.h"
#include "loader/options/option_rules.h"

namespace headrace {

Result<EnginePlan> plan_for(const Dataset& dataset, const LoaderOptions& options, std::uint64_t budget_bytes) {
  HEADRACE_TRY(check_options(options));
  PlanContext context;
  context.room.free_bytes = budget_bytes;
  context.cpus = own_cpus();
  HEADRACE_ASSIGN(context.rank, choose_rank(options.rank, options.world_size, launcher_variable));
  LoaderOptions own = options;
  own.memory = budget_bytes;
  return resolve_plan(impl_of(dataset)->source, own, context);
}

std::uint64_t smallest_budget(const Dataset& dataset, const LoaderOptions& options) {
  std::uint64_t low = 0, high = std::uint64_t{1} << 50;  // no plan at low, a plan at high
  if (!plan_for(dataset, options, high).ok()) return 0;
  while (high - low > std::max<std::uint64_t>(high >> 10, 4096)) {
    const std::uint64_t middle = low + (high - low) / 2;
    (plan_for(dataset, options, middle).ok() ? high : low) = middle;
  }
  return high;
}

Result<EnginePlan> window_plan_for(const Dataset& dataset, LoaderOptions options, std::uint64_t budget_bytes) {
  options.cache = {CacheChoice::kNone, {}};
  options.share = Share::kNothing;
  return plan_for(dataset, options, budget_bytes);
}

std::uint64_t cache_rest_bytes(const EnginePlan& plan) {
  return plan.budget_bytes - std::min(plan.budget_bytes, plan.planned_bytes());
}

std::uint64_t direct_window_slots(const EnginePlan& plan) {
  return std::min(plan.slots, plan.direct_window_slots());
}

std::uint64_t cache_room_bytes(const EnginePlan& plan) {
  return cache_rest_bytes(plan) + (plan.slots - direct_window_slots(plan)) * plan.slot_bytes;
}

}  // namespace headrace
