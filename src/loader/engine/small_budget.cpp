#include "loader/engine/small_budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/machine/own_cpus.h"
#include "loader/engine/engine.h"
#include "loader/plan/window_decodes.h"
#include "order/quality.h"

namespace headrace {
namespace {

constexpr std::uint64_t kMiB = 1 << 20, kKiB = 1 << 10;
constexpr std::uint64_t kMostMemory = std::uint64_t{1} << 50;
constexpr std::uint64_t kLookedAt = 1 << 19;  // samples of an epoch, for Deff

/// Where `holds` changes, between a number for which it holds and a larger one for which it does not.
struct Border {
  std::uint64_t holds, fails;
};
/// \param parts  The border is found to within one of so many parts of itself, whatever numbers it was looked for
/// among.
template <class Holds>
Border narrow(Border border, std::uint64_t parts, const Holds& holds) {
  while (border.fails - border.holds > std::max<std::uint64_t>(border.fails / parts, 1)) {
    const std::uint64_t middle = border.holds + (border.fails - border.holds) / 2;
    (holds(middle) ? border.holds : border.fails) = middle;
  }
  return border;
}

/// Plans of one loader with another shape or budget, as if it were made anew.
class Trials {
 public:
  Trials(const SampleSource& source, const LoaderOptions& options, const EnginePlan& plan, const Label* label)
      : source_(source), options_(options), plan_(plan) {
    context_.rank = {plan.share, plan.rank_reason};
    context_.cpus = own_cpus();
    context_.label = label;
    context_.listed = plan.listed;
    context_.lengths = plan.lengths;
    context_.lanes = plan.budget ? plan.budget->options().lanes : 0;
  }

  [[nodiscard]] Result<EnginePlan> with(const LoaderOptions& options, std::uint64_t budget_bytes) const {
    LoaderOptions own = options;
    own.memory = budget_bytes;
    PlanContext context = context_;
    context.room.free_bytes = budget_bytes;
    return resolve_plan(source_, own, context);
  }
  [[nodiscard]] bool decodes_once(const LoaderOptions& options, std::uint64_t budget_bytes) const {
    const Result<EnginePlan> plan = with(options, budget_bytes);
    return plan.ok() && plan->expected_decodes() <= 1;
  }
  /// The least budget, to within a percent; 0: none.
  [[nodiscard]] std::uint64_t least_memory(const LoaderOptions& options) const {
    Border border{0, std::max<std::uint64_t>(plan_.budget_bytes, kMiB)};
    for (; !decodes_once(options, border.fails); border.fails *= 2)
      if ((border.holds = border.fails) > kMostMemory) return 0;
    const auto too_little = [&](std::uint64_t bytes) { return !decodes_once(options, bytes); };
    return narrow(border, 128, too_little).fails;
  }
  [[nodiscard]] std::uint64_t least_memory() const { return least_memory(options_); }
  [[nodiscard]] LoaderOptions reshaped(std::uint64_t bytes) const {
    LoaderOptions options = options_;
    options.order = BlockShuffle{{0, 0, bytes}};
    return options;
  }

  [[nodiscard]] std::optional<FittingShuffle> fitting() const {
    const BlockTable& blocks = *plan_.blocks;
    const std::uint64_t block_bytes =
        std::max<std::uint64_t>(blocks.num_rows() / std::max<std::uint64_t>(blocks.num_blocks(), 1), 1) *
        source_.sample_bytes();
    // Fine enough that no shape is passed over.
    const std::uint64_t unit = block_bytes >= kMiB ? kMiB : block_bytes >= kKiB ? kKiB : 1;
    const auto fits = [&](std::uint64_t units) {
      return decodes_once(reshaped(std::max<std::uint64_t>(units * unit, 1)), plan_.budget_bytes);
    };
    if (!fits(0)) return std::nullopt;
    const std::uint64_t end = blocks.num_rows() * source_.sample_bytes() / unit + 2;
    std::uint64_t bytes = std::max<std::uint64_t>(narrow({0, end}, ~std::uint64_t{0}, fits).holds * unit, 1);
    Result<EnginePlan> plan = with(reshaped(bytes), plan_.budget_bytes);
    if (!plan.ok()) return std::nullopt;
    for (const std::uint64_t round : {kMiB, kKiB}) {
      const std::uint64_t rounded = bytes / round * round;
      if (rounded == 0) continue;
      const Result<EnginePlan> same = with(reshaped(rounded), plan_.budget_bytes);
      if (same.ok() && same->sampler->identity() == plan->sampler->identity()) {
        bytes = rounded;
        break;
      }
    }
    FittingShuffle out;
    out.shape.bytes = bytes;
    out.setting = fmt::format("{}shuffle_buffer={}", options_.order.is<BlockShuffle>() ? "" : "shuffle=True, ",
                              bytes % kMiB == 0   ? fmt::format("\"{}MiB\"", bytes / kMiB)
                              : bytes % kKiB == 0 ? fmt::format("\"{}KiB\"", bytes / kKiB)
                                                  : fmt::format("{}", bytes));
    out.block_effect = block_effect(*plan);
    return out;
  }

  [[nodiscard]] double block_effect(const EnginePlan& plan) const {
    const std::uint64_t batch = std::max<std::uint64_t>(plan.global_batch, 1);
    return measure_order(*plan.sampler, *plan.blocks, batch, {}, 0,
                         std::clamp<std::uint64_t>(kLookedAt / batch, 16, 1024))
        .block_effect;
  }

 private:
  const SampleSource& source_;
  LoaderOptions options_;
  const EnginePlan& plan_;
  PlanContext context_;
};

}  // namespace

LoaderOptions with_planned_shape(LoaderOptions options, const SampleSource& source, const EnginePlan& plan) {
  if (!options.order.is<BlockShuffle>() || source.mixture()) return options;
  if (plan.shape)
    options.order = BlockShuffle{{plan.shape->streams, plan.shape->pool_blocks, 0}};
  else if (!plan.draws_samples())
    options.order = ExactShuffle{};
  return options;
}

std::uint64_t memory_to_decode_once(const SampleSource& source, const LoaderOptions& options, const EnginePlan& plan,
                                    const Label* label) {
  return Trials(source, options, plan, label).least_memory();
}

std::optional<SmallBudget> judge_small_budget(const SampleSource& source, const LoaderOptions& options,
                                              const EnginePlan& plan, const Label* label) {
  if (plan.expected_decodes() <= 1) return std::nullopt;
  const Trials trials(source, with_planned_shape(options, source, plan), plan, label);
  SmallBudget out;
  out.decodes = window_decodes(plan);
  out.memory_bytes = trials.least_memory();
  out.is_shuffle = options.order.is_shuffle();
  if (!out.is_shuffle) return out;
  out.block_effect = trials.block_effect(plan);
  out.fitting = trials.fitting();
  if (!out.fitting) out.least_memory_bytes = trials.least_memory(trials.reshaped(1));
  return out;
}

std::string mixing_text(const SmallBudget& small) {
  const double effect = small.fitting->block_effect;
  if (effect <= kGoodEffect)
    return fmt::format(
        "It mixes fewer blocks, and batches are as good as independent draws all the same: Deff {} in the worst case, "
        "a label that is constant in each block",
        effect_text(effect));
  return fmt::format(
      "It mixes fewer blocks: Deff {} instead of {} in the worst case, a label that is constant in each block "
      "(order_report(by=...) gives the Deff of your label)",
      effect_text(effect), effect_text(small.block_effect));
}

std::string no_shuffle_text(const SmallBudget& small) {
  const std::string least = small.least_memory_bytes
                                ? fmt::format("memory=\"{}\"", size_setting(small.least_memory_bytes))
                                : std::string("more memory than there is");
  return fmt::format(
      "no shuffle_buffer= decodes each block once in this budget: the smallest needs {}. A smaller batch_size, or "
      "files with smaller chunks, need less",
      least);
}

std::string size_setting(std::uint64_t bytes) {
  return fmt::format("{}MiB", (bytes + kMiB - 1) / kMiB);
}

std::optional<SmallBudget> SmallBudgetMemo::judge(const std::shared_ptr<const Engine>& engine,
                                                  const SampleSource& source, const LoaderOptions& options,
                                                  const Label* label) {
  const std::lock_guard lock(mutex_);
  if (judged_.lock() == engine) return judgement_;
  judgement_ = judge_small_budget(source, options, engine->plan(), label);
  judged_ = engine;
  return judgement_;
}

}  // namespace headrace
