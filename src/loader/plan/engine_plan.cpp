#include "loader/plan/engine_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/number_text.h"
#include "catalog/samples/visit_starts.h"
#include "delivery/slot_pool.h"
#include "loader/plan/plan_memory.h"
#include "loader/plan/plan_order.h"
#include "loader/plan/window_need.h"

namespace headrace {

std::uint64_t EnginePlan::direct_window_slots() const {
  return std::min(SlotPool::kHeldSlots + kReadAheadBatches + threads, std::max(wanted_slots, kLeastSlots));
}

std::uint64_t EnginePlan::mean_rows() const {
  return budget ? std::clamp<std::uint64_t>(global_batch / share.world_size, 1, slot_rows()) : slot_rows();
}

std::string EnginePlan::order_text() const {
  if (!draws_samples()) return sampler->describe();
  const std::size_t volumes = boxes->volumes().size();
  std::string text =
      fmt::format("drawn: every start of {} volume{} is equally likely for each patch, anew in each epoch", volumes,
                  plural(volumes));
  const std::size_t classes = boxes->visits() ? boxes->visits()->num_classes() : 0;
  if (classes > 0)
    text = fmt::format(
        "drawn: as many patches for each of {} class{}, centred where it lies in {} volume{}, anew in "
        "each epoch",
        classes, classes == 1 ? "" : "es", volumes, plural(volumes));
  if (const VisitStarts* const visits = boxes->visits())
    text += fmt::format("; in visits of {} patches near each other, {} visits at a time", visits->visit().num_boxes(),
                        shape ? shape->mixed_blocks() : 1);
  return text;
}

double EnginePlan::expected_decodes() const {
  if (keeps_all() || draws_samples()) return 1;
  const std::uint64_t span = steps->span_steps();
  if (slots >= wanted_slots || window_slots() >= span) return 1;
  return std::max(1.0, std::ceil(static_cast<double>(span) / static_cast<double>(window_slots())));
}

double EnginePlan::decodes_over_ranks() const {
  constexpr std::uint64_t kMostLooks = 1 << 20;  // 50 ns each
  const std::uint64_t num_blocks = blocks->num_blocks(), world = share.world_size;
  if (world == 1 || num_blocks == 0) return 1;
  if (is_shuffled && !shape) {  // a rank has no row of a block of n with probability (1 - 1 / world)^n
    const auto ranks = static_cast<double>(world);
    const double rows = static_cast<double>(blocks->num_rows()) / static_cast<double>(num_blocks);
    return ranks * (1 - std::pow(1 - 1 / ranks, rows));
  }
  if (!sampler->traits().local) return 0;
  const std::uint64_t stride = num_blocks * world / kMostLooks + 1;
  std::uint64_t decodes = 0, looks = 0;
  for (std::uint32_t r = 0; r < world; ++r) {
    const auto cursor = sampler->cursor({0, 0, global_batch, {r, static_cast<std::uint32_t>(world)}});
    for (std::uint64_t b = 0; b < num_blocks; b += stride) {
      decodes += cursor->rows_in(static_cast<std::uint32_t>(b)) > 0;
      ++looks;
    }
  }
  return static_cast<double>(decodes) * static_cast<double>(world) / static_cast<double>(looks);
}

Result<EnginePlan> resolve_plan(const SampleSource& source, const LoaderOptions& options, const PlanContext& context) {
  EnginePlan plan;
  const std::uint64_t most = context.room.free_bytes + context.room.reclaimable_bytes;
  plan.budget_bytes = options.memory ? std::min(options.memory, most) : most;
  plan.budget_reason = !options.memory          ? "the free part of the process's budget"
                       : options.memory <= most ? "memory="
                                                : "memory= asks for more than the process may use";
  plan.layout = plan_layout(source, plan.budget_bytes / kResidentShare);
  plan.blocks = source.blocks(plan.layout);
  HEADRACE_TRY(plan_order(source, options, context, plan));
  HEADRACE_TRY(plan_memory(source, options, context, plan));
  return plan;
}

}  // namespace headrace
