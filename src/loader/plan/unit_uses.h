// UnitUses: when units of a map are used next, looked up on the order's own steps: what a cache of units keeps them by.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "catalog/samples/sample_map.h"
#include "order/steps/step_plan.h"

namespace headrace {

/// Walks ahead of the window, so that the samples of a step are planned twice. What it knows is 8 bytes a use, at most
/// 2^20 of them. Threads: any.
class UnitUses {
 public:
  /// \param seed  Of samples that are drawn. \param window_samples  By which threads that ask may be apart.
  UnitUses(std::shared_ptr<const StepPlan> steps, std::shared_ptr<const SampleMap> map, std::uint64_t seed,
           std::uint64_t window_samples)
      : steps_(std::move(steps)), map_(std::move(map)), seed_(seed), window_samples_(window_samples) {}

  static constexpr std::uint64_t kFar = ~std::uint64_t{0};
  /// Return a number that is larger, the later the unit is used after the step that ends `position` samples into an
  /// epoch; kFar: later than is known.
  std::uint64_t next_use(std::uint32_t unit, std::uint64_t epoch, std::uint64_t position);

 private:
  /// So many samples into an epoch.
  struct Moment {
    std::uint64_t epoch = 0, position = 0;
    friend auto operator<=>(const Moment&, const Moment&) = default;
  };
  [[nodiscard]] bool is_another_walk(Moment now) const;
  void begin_at(Moment now);
  bool look_at_a_step();
  std::uint64_t first_step_after(Moment now);

  const std::shared_ptr<const StepPlan> steps_;
  const std::shared_ptr<const SampleMap> map_;
  const std::uint64_t seed_, window_samples_;
  std::mutex mutex_;
  std::unique_ptr<StepCursor> cursor_;
  Moment looked_to_, newest_;  // up to where it has looked, and the newest that was asked for
  bool started_ = false;
  std::deque<Moment> steps_seen_;  // where steps begin, from number first_seen_ on, counted through all walks
  std::uint64_t first_seen_ = 0, num_uses_ = 0;
  std::unordered_map<std::uint32_t, std::deque<std::uint64_t>> uses_;  // numbers of each unit's steps, ascending
  std::vector<SampleRef> samples_;
  std::vector<BlockRows> counted_elsewhere_;
  std::vector<Part> parts_;
  std::vector<std::uint32_t> ends_;
};

}  // namespace headrace
