// What decodes every block once where a budget is too small for the order as asked: another shape of the shuffle, or
// more memory. Found by planning, so that what is named is what the planner then does.
#pragma once

#include <headrace/loader.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "loader/engine/engine.h"
#include "loader/plan/engine_plan.h"

namespace headrace {

/// The block shuffle that mixes most of those that decode each block once in a budget.
struct FittingShuffle {
  ShuffleShape shape;       ///< As bytes; whole MiB where that gives the same order.
  std::string setting;      ///< What Loader() takes: shuffle_buffer="60MiB".
  double block_effect = 1;  ///< Deff of what is constant in a block: the worst case for a label.
};

struct SmallBudget {
  double decodes = 1;              ///< Decodes of a block, an epoch, as planned now.
  double block_effect = 1;         ///< Deff of what is constant in a block, in the order as asked.
  bool is_shuffle = false;         ///< False: an order that has no shuffle_buffer.
  std::uint64_t memory_bytes = 0;  ///< Decodes each block once in the order as asked; 0: no budget does.
  std::optional<FittingShuffle> fitting;
  std::uint64_t least_memory_bytes = 0;  ///< Without a fitting shuffle: the budget from which there is one; 0: none.
};

/// Look for what decodes every block once. nullopt: the plan does. Costs some dozens of plans and a part of an epoch's
/// order, without data. \param label  Of a sampler that needs one.
std::optional<SmallBudget> judge_small_budget(const SampleSource& source, const LoaderOptions& options,
                                              const EnginePlan& plan, const Label* label = nullptr);

/// Return the options with the shape that the plan's shuffle has: a state may have brought it.
LoaderOptions with_planned_shape(LoaderOptions options, const SampleSource& source, const EnginePlan& plan);

/// Return the least budget, to within a percent, under which the order of `options` decodes each block once; 0: none
/// does. \param plan  Of the same data, for the rank and the rows.
std::uint64_t memory_to_decode_once(const SampleSource& source, const LoaderOptions& options, const EnginePlan& plan,
                                    const Label* label = nullptr);

/// Return what the fitting shuffle costs: "It mixes fewer blocks: Deff 1.6 instead of 1.0 …".
std::string mixing_text(const SmallBudget& small);
/// Return why no shuffle fits, and what else to do.
std::string no_shuffle_text(const SmallBudget& small);
/// Return "60MiB", rounded up: what memory= and --memory take.
std::string size_setting(std::uint64_t bytes);

/// Remembers the judgement of the newest engine. Threads: any.
class SmallBudgetMemo {
 public:
  /// Return the judgement for `engine`, made now unless it was made before.
  std::optional<SmallBudget> judge(const std::shared_ptr<const Engine>& engine, const SampleSource& source,
                                   const LoaderOptions& options, const Label* label);

 private:
  std::mutex mutex_;
  std::weak_ptr<const Engine> judged_;
  std::optional<SmallBudget> judgement_;
};

}  // namespace headrace
