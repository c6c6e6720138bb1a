// BudgetSteps: steps of as many samples as a budget of tokens holds.
//
// An epoch is cut into windows of M positions; a window's samples lie in C lanes, and WindowSteps cuts them into steps.
// A window's steps follow from its lengths, the seed and its number alone: so any window can be planned by itself, a
// walk begins anywhere, and the steps over all ranks are the same for every world size. Rank r of W owns lanes
// [r·C/W, (r+1)·C/W); where W does not divide C, a stretch of each step's list.
#pragma once

#include <headrace/tail.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "order/steps/length_index.h"
#include "order/steps/step_plan.h"
#include "order/steps/window_steps.h"

namespace headrace {

struct BudgetOptions {
  std::uint64_t tokens = 0;  ///< Most that a lane holds of a step.
  std::uint32_t lanes = 1;   ///< The largest world size that is planned for; part of what the steps are.
  StepArrangement arrangement = StepArrangement::kDeal;
  std::uint64_t lookahead_steps = 64;              ///< Steps that a window should hold.
  std::uint64_t most_samples = ~std::uint32_t{0};  ///< Samples of a lane in a step.
  bool padded = false;         ///< A step costs its samples times the costliest of them. Not for kDeal.
  bool long_alone = false;     ///< Samples beyond the budget are steps of their own, not an error.
  Tail tail = Tail::kPartial;  ///< For the epoch's last samples, fewer than one a lane.
};

/// What is known of all costs once the index was gone through.
struct CostSummary {
  std::uint64_t samples = 0, sum = 0, too_long = 0;
  std::uint32_t least = ~std::uint32_t{0}, most = 0;
  SampleRef longest;  ///< The first of the highest cost.

  /// Return the samples over all lanes that a full step holds on average: at least 1, at most all.
  [[nodiscard]] std::uint64_t mean_samples(const BudgetOptions& options) const;
};

/// Go through all lengths once: 3 ns a sample.
CostSummary summarize_costs(const BlockTable& blocks, const LengthIndex& lengths, const BudgetOptions& options);

class BudgetSteps final : public StepPlan {
 public:
  /// Go through all lengths once (3 ns a sample) and settle the length of a window. Errors: kInvalidArgument  an option
  /// is out of range; samples are beyond the budget (how many, which is the longest).
  static Result<std::unique_ptr<BudgetSteps>> make(std::shared_ptr<const Sampler> sampler, const BlockTable& blocks,
                                                   std::shared_ptr<const LengthIndex> lengths,
                                                   const BudgetOptions& options, RankShare share, std::uint64_t seed);
  /// Make the same where the costs are known, so that nothing is gone through.
  static Result<std::unique_ptr<BudgetSteps>> make(std::shared_ptr<const Sampler> sampler, const BlockTable& blocks,
                                                   std::shared_ptr<const LengthIndex> lengths,
                                                   const BudgetOptions& options, RankShare share, std::uint64_t seed,
                                                   const CostSummary& costs);

  /// Return the steps of an epoch. Cost: all windows are planned (20 ns a sample) unless the epoch's number is known
  /// from before; kept for the epochs asked for last, two or four bytes a window.
  [[nodiscard]] std::uint64_t num_steps(std::uint64_t epoch) const override { return steps_after(epoch, 0); }
  [[nodiscard]] std::uint64_t steps_after(std::uint64_t epoch, std::uint64_t position) const override;
  [[nodiscard]] bool ends_at(std::uint64_t, std::uint64_t position) const override { return position >= handed_out_; }
  [[nodiscard]] std::uint64_t position_of(std::uint64_t epoch, std::uint64_t step) const override;
  [[nodiscard]] bool is_settled(std::uint64_t epoch, std::uint64_t position) const override;
  /// Return true also where a rank may be left without a sample of the epoch's last ones, or has no lane of its own: it
  /// then gets another's once more.
  [[nodiscard]] bool repeats_samples(std::uint64_t position) const override;
  /// Return an upper bound: what the budget holds of the cheapest sample.
  [[nodiscard]] std::uint64_t most_rows() const override;
  [[nodiscard]] std::uint64_t span_steps() const override;
  [[nodiscard]] std::string identity() const override { return identity_; }
  /// Start a walk. `position` is one at which a step ends, or 0; else the walk begins with the step that holds it.
  [[nodiscard]] std::unique_ptr<StepCursor> cursor(std::uint64_t epoch, std::uint64_t position) const override;
  [[nodiscard]] const Sampler& sampler() const override { return *sampler_; }

  /// Return the samples that a step holds over all ranks, on average.
  [[nodiscard]] std::uint64_t mean_samples() const { return mean_samples_; }
  [[nodiscard]] const CostSummary& costs() const { return costs_; }
  [[nodiscard]] const BudgetOptions& options() const { return options_; }
  /// Return the samples of an epoch that are handed out over all ranks.
  [[nodiscard]] std::uint64_t handed_out() const { return handed_out_; }
  /// Return the most that this rank's samples of a step cost together: its lanes times the most of one.
  [[nodiscard]] std::uint64_t most_cost() const {
    return lanes_of_rank() * std::max<std::uint64_t>(options_.tokens, costs_.most);
  }
  /// Return the lanes of which this rank may have samples in a step.
  [[nodiscard]] std::uint64_t lanes_of_rank() const;
  /// Return about how many steps an epoch has, from its first windows: exact where these are all. Never walks an epoch.
  [[nodiscard]] std::uint64_t about_steps() const;
  [[nodiscard]] std::uint64_t num_windows() const { return (handed_out_ + window_ - 1) / window_; }
  /// Return the steps of windows [first, end) of an epoch; for callers that walk an epoch with several threads.
  [[nodiscard]] std::vector<std::uint32_t> count_steps(std::uint64_t epoch, std::uint64_t first,
                                                       std::uint64_t end) const;
  /// Keep what count_steps() said of all windows of an epoch.
  void remember(std::uint64_t epoch, std::vector<std::uint32_t> steps_of_windows) const;

 private:
  friend class BudgetCursor;
  class Window;
  BudgetSteps(std::shared_ptr<const Sampler> sampler, std::shared_ptr<const LengthIndex> lengths,
              const BudgetOptions& options, RankShare share, std::uint64_t seed, const CostSummary& costs);
  using Table = std::shared_ptr<const std::vector<std::uint32_t>>;
  [[nodiscard]] Table known_table(std::uint64_t epoch) const;
  [[nodiscard]] Table table_of(std::uint64_t epoch) const;
  [[nodiscard]] std::uint64_t steps_before(std::uint64_t epoch, std::uint64_t window) const;

  const std::shared_ptr<const Sampler> sampler_;
  const std::shared_ptr<const LengthIndex> lengths_;
  const BudgetOptions options_;
  const RankShare share_;
  const std::uint64_t seed_;
  const CostSummary costs_;
  const std::uint64_t samples_;   // of an epoch, before the tail is dropped
  const bool owns_parts_;         // lanes are the order's own parts, not every C-th position
  std::uint64_t window_ = 1;      // positions
  std::uint64_t handed_out_ = 0;  // samples of an epoch
  std::uint64_t mean_samples_ = 1;
  std::string identity_;
  mutable std::mutex mutex_;
  mutable std::vector<std::pair<std::uint64_t, Table>> tables_;  // of some epochs, the last used at the end
};

}  // namespace headrace
