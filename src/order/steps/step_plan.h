// StepPlan: how the samples of an epoch are cut into steps, and what one rank gets of each.
//
// A step is what all ranks are handed at once. Like the order, a plan is a pure function of the data's index, seed,
// epoch and position: threads, memory and rank never change what a step holds over all ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "order/sampler.h"

namespace headrace {

/// One step of a walk, as one rank gets it.
struct Step {
  std::uint64_t index = 0;           ///< Number of the step in the epoch.
  std::uint64_t begin = 0, end = 0;  ///< Samples of the epoch handed out over all ranks before and after it.
  std::uint64_t first_position = 0;  ///< Position of the rank's first sample: `begin`, and what other ranks get first.
  std::uint64_t real_rows = 0;       ///< Samples that are not padding; they come first.
  bool last = false;                 ///< True if no step of the epoch follows.
};

/// Plans the steps of one walk. Threads: one at a time.
class StepCursor {
 public:
  virtual ~StepCursor() = default;
  /// Append the rank's samples of the next step to `out`. Append to `counted_elsewhere` samples that are not the
  /// rank's, or were handed out before the walk began, as far as rows_in() counts them. Not to be called after the last
  /// step. \param counted  Set to whether rows_in() counts the samples appended to `out`.
  virtual Step next(std::vector<SampleRef>& out, std::vector<BlockRows>& counted_elsewhere, bool& counted) = 0;
  /// Return how many samples of `block` the walk appends to `out` and `counted_elsewhere` together; 0: unknown. With
  /// the last of them the block is done with.
  [[nodiscard]] virtual std::uint64_t rows_in(std::uint32_t block) const = 0;
};

/// Immutable. Threads: all members from any thread.
class StepPlan {
 public:
  virtual ~StepPlan() = default;

  /// Return the steps of an epoch; the same on all ranks.
  [[nodiscard]] virtual std::uint64_t num_steps(std::uint64_t epoch) const = 0;
  /// Return the steps that follow after `position` samples.
  [[nodiscard]] virtual std::uint64_t steps_after(std::uint64_t epoch, std::uint64_t position) const = 0;
  /// Return true if no step follows after `position` samples. Never walks through an epoch, as steps_after() may.
  [[nodiscard]] virtual bool ends_at(std::uint64_t epoch, std::uint64_t position) const = 0;
  /// Return the samples that are handed out over all ranks before a step of the epoch.
  [[nodiscard]] virtual std::uint64_t position_of(std::uint64_t epoch, std::uint64_t step) const = 0;
  /// Return the samples that are handed out over all ranks once the step that begins after `position` samples is done.
  [[nodiscard]] virtual std::uint64_t end_after(std::uint64_t epoch, std::uint64_t position) const {
    std::vector<SampleRef> samples;
    std::vector<BlockRows> counted_elsewhere;
    bool counted = true;
    return ends_at(epoch, position) ? position : cursor(epoch, position)->next(samples, counted_elsewhere, counted).end;
  }
  /// Return true if the step that begins after `position` samples is settled. False only for orders that are made up as
  /// they go: see Sampler::is_settled().
  [[nodiscard]] virtual bool is_settled(std::uint64_t epoch, std::uint64_t position) const = 0;
  /// Return the most rows that this rank gets in a step, padding included.
  [[nodiscard]] virtual std::uint64_t most_rows() const = 0;
  /// Return the steps over which the rows of one block may be spread: a window of so many decodes every block once.
  [[nodiscard]] virtual std::uint64_t span_steps() const = 0;
  /// Return what a state must agree in to be resumed, beside the order; empty if any position suits any such plan.
  [[nodiscard]] virtual std::string identity() const = 0;
  /// Return true if a walk that begins after `position` samples of an epoch hands out some samples once more, which are
  /// to count for nothing (Step::real_rows).
  [[nodiscard]] virtual bool repeats_samples(std::uint64_t position) const = 0;
  /// Begin a walk after `position` samples of the epoch.
  [[nodiscard]] virtual std::unique_ptr<StepCursor> cursor(std::uint64_t epoch, std::uint64_t position) const = 0;
  /// Return the order that is cut.
  [[nodiscard]] virtual const Sampler& sampler() const = 0;
};

}  // namespace headrace
