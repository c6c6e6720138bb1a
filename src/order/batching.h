// Batching: how the samples of an epoch are cut into steps, and what one rank gets of each.
#pragma once

#include <headrace/order/tail.h>

#include <algorithm>

#include "order/sampler.h"

namespace headrace {

struct Batching {
  std::uint64_t global_batch = 1;
  RankShare share = {};
  Tail tail = Tail::kPartial;

  /// Steps that `samples` of an epoch make; the same on all ranks.
  [[nodiscard]] std::uint64_t steps(std::uint64_t samples) const {
    return samples / global_batch + (tail != Tail::kDrop && samples % global_batch != 0);
  }
  /// Most rows that this rank gets in a step.
  [[nodiscard]] std::uint64_t most_rows() const {
    const std::uint64_t w = share.world_size;
    return global_batch / w + (global_batch % w != 0);
  }
};

/// One step of a walk for one rank.
struct Step {
  std::uint64_t begin = 0, end = 0;  ///< Global samples of the epoch before and after it.
  std::uint64_t first_position = 0;  ///< Of the rank's first sample.
  std::uint64_t real_rows = 0;       ///< Samples that are not padding; they come first.
};

/// Plans the steps of one walk after another. Threads: one at a time.
class StepPlanner {
 public:
  StepPlanner(std::shared_ptr<const Sampler> sampler, Batching batching)
      : sampler_(std::move(sampler)), batching_(batching) {}

  /// Start an epoch after `position` samples.
  void start(std::uint64_t epoch, std::uint64_t position);
  void stop() { cursor_.reset(); }
  [[nodiscard]] bool started() const { return cursor_ != nullptr; }
  /// The samples of the next step, and of `passed` (see Cursor). `counted`: do rows_of() and passed count these?
  Step next(std::vector<SampleRef>& out, std::vector<SampleRef>& passed, bool& counted);
  [[nodiscard]] std::uint64_t rows_of(std::uint32_t block) const { return cursor_->rows_of(block); }

 private:
  void fill_up(std::uint64_t begin, std::uint64_t count, ShareRange mine, std::vector<SampleRef>& out);

  const std::shared_ptr<const Sampler> sampler_;
  const Batching batching_;
  Walk walk_;
  std::uint64_t step_ = 0;
  std::unique_ptr<Cursor> cursor_;
};

}  // namespace headrace
