// FixedSteps: steps of a fixed number of samples.
#pragma once

#include <headrace/tail.h>

#include <algorithm>
#include <memory>

#include "order/steps/step_plan.h"

namespace headrace {

/// Cut an order every `global_batch` samples; each rank gets an equal, contiguous share of every step. Where a last
/// step has fewer samples than there are ranks, those without one get a sample of another rank once more: the mean of
/// nothing is NaN, and an all-reduce would spread it.
class FixedSteps final : public StepPlan {
 public:
  /// \param global_batch  Samples of a step over all ranks, at least 1.
  /// \param tail  What becomes of samples that do not fill the last step.
  FixedSteps(std::shared_ptr<const Sampler> sampler, std::uint64_t global_batch, RankShare share = {},
             Tail tail = Tail::kPartial)
      : sampler_(std::move(sampler)), global_batch_(global_batch), share_(share), tail_(tail) {}

  [[nodiscard]] std::uint64_t num_steps(std::uint64_t epoch) const override { return steps_after(epoch, 0); }
  [[nodiscard]] std::uint64_t steps_after(std::uint64_t epoch, std::uint64_t position) const override;
  [[nodiscard]] bool ends_at(std::uint64_t epoch, std::uint64_t position) const override {
    return steps_after(epoch, position) == 0;
  }
  [[nodiscard]] std::uint64_t position_of(std::uint64_t epoch, std::uint64_t step) const override;
  [[nodiscard]] std::uint64_t end_after(std::uint64_t, std::uint64_t position) const override {
    const std::uint64_t left = sampler_->num_samples() - std::min(position, sampler_->num_samples());
    return position + std::min(global_batch_, left);
  }
  [[nodiscard]] bool is_settled(std::uint64_t epoch, std::uint64_t position) const override;
  [[nodiscard]] std::uint64_t most_rows() const override;
  [[nodiscard]] bool repeats_samples(std::uint64_t position) const override;
  [[nodiscard]] std::uint64_t span_steps() const override { return sampler_->span_steps(global_batch_, share_); }
  [[nodiscard]] std::string identity() const override { return {}; }
  [[nodiscard]] std::unique_ptr<StepCursor> cursor(std::uint64_t epoch, std::uint64_t position) const override;
  [[nodiscard]] const Sampler& sampler() const override { return *sampler_; }

 private:
  const std::shared_ptr<const Sampler> sampler_;
  const std::uint64_t global_batch_;
  const RankShare share_;
  const Tail tail_;
};

}  // namespace headrace
