// One rank's walk over steps of a token budget.
#include <memory>
#include <utility>
#include <vector>

#include "order/steps/budget_steps.h"
#include "order/steps/budget_window.h"

namespace headrace {

/// One rank's walk.
class BudgetCursor final : public StepCursor {
 public:
  BudgetCursor(const BudgetSteps& plan, std::uint64_t epoch, std::uint64_t position)
      : plan_(plan), window_(plan, epoch, position / plan.window_), end_lane_(plan.options_.lanes) {
    const std::uint64_t lanes = plan.options_.lanes, world = plan.share_.world_size;
    owns_lanes_ = lanes % world == 0;
    if (owns_lanes_) {
      first_lane_ = static_cast<std::uint32_t>(plan.share_.rank * lanes / world);
      end_lane_ = static_cast<std::uint32_t>((plan.share_.rank + 1) * lanes / world);
    }
    // Samples that other ranks get: those of other lanes are not counted where lanes have blocks of their own; in
    // other orders with locality all are; without locality nothing is.
    counts_ = world == 1 || plan.owns_parts_ || plan.sampler_->traits().local;
    passes_others_ = counts_ && world > 1 && !(plan.owns_parts_ && owns_lanes_);
    index_ = plan.steps_before(epoch, position / plan.window_);
    enter(position);
  }

  Step next(std::vector<SampleRef>& out, std::vector<BlockRows>& counted_elsewhere, bool& counted) override {
    if (counts_) counted_elsewhere.insert(counted_elsewhere.end(), elsewhere_.begin(), elsewhere_.end());
    elsewhere_.clear();
    Step step{.index = index_++, .begin = position_};
    step.end = position_ += window_.samples_of(step_);
    counted = deal_out(out, counted_elsewhere, step);
    step.last = position_ >= plan_.handed_out_;
    if (++step_ == window_.num_steps() && !step.last) enter(position_);
    return step;
  }
  [[nodiscard]] std::uint64_t rows_in(std::uint32_t block) const override {
    return counts_ ? window_.rows_in(block, first_lane_, end_lane_) : 0;
  }

 private:
  /// Plan the window that holds `position`, and pass the steps before it by.
  void enter(std::uint64_t position) {
    if (position >= plan_.handed_out_) return;
    window_.next(first_lane_, end_lane_, elsewhere_);
    step_ = 0;
    position_ = window_.begin();
    for (;;) {
      const std::uint64_t samples = window_.samples_of(step_);
      if (position_ + samples > position) return;
      position_ += samples;
      for (std::uint32_t lane = 0; lane < plan_.options_.lanes; ++lane)
        if (!plan_.owns_parts_ || (lane >= first_lane_ && lane < end_lane_))
          window_.list(step_, lane, [&](SampleRef sample, bool padding) {
            if (!padding) elsewhere_.push_back({sample.block, 1});
          });
      ++step_;
      ++index_;
    }
  }

  /// The rank's part of the step's list, which goes lane by lane. \return  Whether rows_in() counts it.
  bool deal_out(std::vector<SampleRef>& out, std::vector<BlockRows>& counted_elsewhere, Step& step) {
    padding_.clear();
    const std::size_t before = out.size();
    const std::uint32_t lanes = plan_.options_.lanes;
    std::uint64_t listed = 0, first = 0, end = 0;
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      if (lane == first_lane_) first = listed;
      listed += window_.listed(step_, lane);
      if (lane + 1 == end_lane_) end = listed;
    }
    if (!owns_lanes_) {
      const ShareRange mine = share_of(plan_.share_, listed);
      first = mine.begin, end = mine.end;
    }
    std::uint64_t at = 0;
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      const std::uint64_t count = window_.listed(step_, lane);
      if (!passes_others_ && (at >= end || at + count <= first)) {
        at += count;
        continue;
      }
      window_.list(step_, lane, [&](SampleRef sample, bool padding) {
        const bool is_mine = at >= first && at < end;
        ++at;
        if (is_mine)
          (padding ? padding_ : out).push_back(sample);
        else if (passes_others_ && !padding && rows_in(sample.block) > 0)
          counted_elsewhere.push_back({sample.block, 1});
      });
    }
    step.first_position = step.begin + first;
    step.real_rows = out.size() - before;
    const bool borrows = out.size() == before && padding_.empty();  // the mean over a batch of nothing is NaN
    if (borrows) borrow();
    out.insert(out.end(), padding_.begin(), padding_.end());
    return !borrows && listed == step.end - step.begin;  // without padding
  }

  /// Take another rank's sample of the step, as padding.
  void borrow() {
    for (std::uint32_t lane = 0; padding_.empty(); ++lane)
      window_.list(step_, lane, [&](SampleRef sample, bool) {
        if (padding_.empty()) padding_.push_back(sample);
      });
  }

  const BudgetSteps& plan_;
  BudgetSteps::Window window_;
  std::uint32_t first_lane_ = 0, end_lane_;
  bool owns_lanes_ = false, counts_ = false, passes_others_ = false;
  std::uint64_t position_ = 0, index_ = 0;
  std::size_t step_ = 0;
  std::vector<BlockRows> elsewhere_;
  std::vector<SampleRef> padding_;
};

std::unique_ptr<StepCursor> BudgetSteps::cursor(std::uint64_t epoch, std::uint64_t position) const {
  return std::make_unique<BudgetCursor>(*this, epoch, position);
}

}  // namespace headrace
