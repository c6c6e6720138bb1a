// CutSteps: steps of batches of unequal sizes, for orders whose epochs say where their batches end.
//
// Ranks get whole batches: of each run of W batches, W the world size, rank r gets the r-th. A rank for which the last
// run has none gets its first sample once more, so that all ranks make equal steps and none of them has nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "order/steps/step_plan.h"

namespace headrace {

/// Samples [begin, end) of an epoch.
struct PositionRange {
  std::uint64_t begin = 0, end = 0;
};

/// One epoch of samples, cut into batches. Immutable. Threads: all members from any thread.
class EpochCut {
 public:
  virtual ~EpochCut() = default;
  /// Return the samples before the end of each batch: ascending, never equal, the last one the epoch's samples.
  [[nodiscard]] virtual std::span<const std::uint64_t> batch_ends() const = 0;
  /// Append the samples of a range of positions.
  virtual void append(PositionRange range, std::vector<SampleRef>& out) const = 0;
  /// Append the positions at which all rows of a block come, each once; nothing if that is not known.
  virtual void find_block(std::uint32_t block, std::vector<PositionRange>& out) const { (void)block, (void)out; }
};

/// Where the batches of each epoch end. Immutable, or changed only before an epoch is settled. Threads: any.
class BatchCuts {
 public:
  virtual ~BatchCuts() = default;
  /// Return an epoch; the same for the same number, as long as it is settled.
  [[nodiscard]] virtual std::shared_ptr<const EpochCut> epoch(std::uint64_t number) const = 0;
  /// Return the most samples that a batch of any epoch has.
  [[nodiscard]] virtual std::uint64_t most_batch_rows() const = 0;
  /// Return the batches over which the rows of one block may be spread.
  [[nodiscard]] virtual std::uint64_t span_batches() const = 0;
  /// Return what the cuts are, for states: equal text and equal order, equal batches.
  [[nodiscard]] virtual std::string identity() const = 0;
};

/// Cut an order where BatchCuts says.
class CutSteps final : public StepPlan {
 public:
  /// \param sampler  The order that is cut: its number of samples and its traits are those of every epoch.
  CutSteps(std::shared_ptr<const Sampler> sampler, std::shared_ptr<const BatchCuts> cuts, RankShare share = {})
      : sampler_(std::move(sampler)), cuts_(std::move(cuts)), share_(share) {}

  [[nodiscard]] std::uint64_t num_steps(std::uint64_t epoch) const override { return steps_after(epoch, 0); }
  [[nodiscard]] std::uint64_t steps_after(std::uint64_t epoch, std::uint64_t position) const override;
  [[nodiscard]] bool ends_at(std::uint64_t, std::uint64_t position) const override {
    return position >= sampler_->num_samples();
  }
  [[nodiscard]] std::uint64_t position_of(std::uint64_t epoch, std::uint64_t step) const override;
  [[nodiscard]] std::uint64_t end_after(std::uint64_t epoch, std::uint64_t position) const override;
  [[nodiscard]] bool is_settled(std::uint64_t epoch, std::uint64_t position) const override {
    return sampler_->is_settled(epoch, position);
  }
  [[nodiscard]] bool repeats_samples(std::uint64_t) const override { return share_.world_size > 1; }
  [[nodiscard]] std::uint64_t most_rows() const override { return cuts_->most_batch_rows(); }
  [[nodiscard]] std::uint64_t span_steps() const override { return cuts_->span_batches() / share_.world_size + 1; }
  [[nodiscard]] std::string identity() const override { return cuts_->identity(); }
  /// Start a walk. One that begins inside a batch begins with what is left of it.
  [[nodiscard]] std::unique_ptr<StepCursor> cursor(std::uint64_t epoch, std::uint64_t position) const override;
  [[nodiscard]] const Sampler& sampler() const override { return *sampler_; }

 private:
  const std::shared_ptr<const Sampler> sampler_;
  const std::shared_ptr<const BatchCuts> cuts_;
  const RankShare share_;
};

}  // namespace headrace
