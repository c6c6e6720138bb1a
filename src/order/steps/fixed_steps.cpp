#include "order/steps/fixed_steps.h"

#include <algorithm>

namespace headrace {
namespace {

class FixedCursor final : public StepCursor {
 public:
  /// \param steps  Steps of the walk.
  FixedCursor(const Sampler& sampler, const Walk& walk, std::uint64_t steps, Tail tail)
      : sampler_(sampler), walk_(walk), steps_(steps), tail_(tail), cursor_(sampler.cursor(walk)) {}

  Step next(std::vector<SampleRef>& out, std::vector<BlockRows>& counted_elsewhere, bool& counted) override {
    const std::uint64_t total = sampler_.num_samples();
    Step step{.begin = walk_.begin_of(step_, total), .end = walk_.begin_of(step_ + 1, total)};
    step.index = step.begin / walk_.global_batch;
    step.last = ++step_ >= steps_;
    const std::uint64_t count = step.end - step.begin;
    const bool too_few = tail_ == Tail::kPartial && count < walk_.share.world_size;
    counted = !too_few && (tail_ != Tail::kPad || count == walk_.global_batch);
    if (counted) {
      const std::size_t before = out.size();
      cursor_->next_step(out, counted_elsewhere);
      step.real_rows = out.size() - before;
      step.first_position = step.begin + cursor_->offset();
      return step;
    }
    const ShareRange mine = share_of(walk_.share, too_few ? walk_.share.world_size : walk_.global_batch);
    fill_up(step.begin, count, mine, out);
    step.first_position = step.begin + mine.begin;
    step.real_rows = std::clamp(count, mine.begin, mine.end) - mine.begin;
    return step;
  }
  [[nodiscard]] std::uint64_t rows_in(std::uint32_t block) const override { return cursor_->rows_in(block); }

 private:
  /// The rank's part of a last step that is filled up: its i-th sample, over all ranks, is sample i modulo `count`.
  void fill_up(std::uint64_t begin, std::uint64_t count, ShareRange mine, std::vector<SampleRef>& out) const {
    std::vector<SampleRef> all;
    std::vector<BlockRows> ignored;
    sampler_.cursor({walk_.epoch, begin, walk_.global_batch, {}})->next_step(all, ignored);
    for (std::uint64_t i = mine.begin; i < mine.end; ++i) out.push_back(all[i % count]);
  }

  const Sampler& sampler_;
  const Walk walk_;
  const std::uint64_t steps_;
  const Tail tail_;
  std::unique_ptr<Cursor> cursor_;
  std::uint64_t step_ = 0;
};

}  // namespace

std::uint64_t FixedSteps::steps_after(std::uint64_t, std::uint64_t position) const {
  const std::uint64_t total = sampler_->num_samples(), left = total - std::min(position, total);
  return left / global_batch_ + (tail_ != Tail::kDrop && left % global_batch_ != 0);
}

std::uint64_t FixedSteps::position_of(std::uint64_t, std::uint64_t step) const {
  return Walk{.global_batch = global_batch_}.begin_of(step, sampler_->num_samples());
}

bool FixedSteps::is_settled(std::uint64_t epoch, std::uint64_t position) const {
  return sampler_->is_settled(epoch, std::min(position + global_batch_, sampler_->num_samples()));
}

std::uint64_t FixedSteps::most_rows() const {
  const std::uint64_t world = share_.world_size;
  return global_batch_ / world + (global_batch_ % world != 0);
}

bool FixedSteps::repeats_samples(std::uint64_t position) const {
  if (tail_ == Tail::kPad) return true;
  const std::uint64_t total = sampler_->num_samples(), left = total - std::min(position, total);
  const std::uint64_t last = left % global_batch_;
  return tail_ == Tail::kPartial && last > 0 && last < share_.world_size;
}

std::unique_ptr<StepCursor> FixedSteps::cursor(std::uint64_t epoch, std::uint64_t position) const {
  return std::make_unique<FixedCursor>(*sampler_, Walk{epoch, position, global_batch_, share_},
                                       steps_after(epoch, position), tail_);
}

}  // namespace headrace
