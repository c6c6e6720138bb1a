#include "order/batching.h"

namespace headrace {

void StepPlanner::start(std::uint64_t epoch, std::uint64_t position) {
  walk_ = {epoch, position, batching_.global_batch, batching_.share};
  step_ = 0;
  cursor_ = sampler_->cursor(walk_);
}

Step StepPlanner::next(std::vector<SampleRef>& out, std::vector<SampleRef>& passed, bool& counted) {
  const std::uint64_t total = sampler_->num_samples();
  Step step{.begin = walk_.begin_of(step_, total), .end = walk_.begin_of(step_ + 1, total)};
  ++step_;
  const std::uint64_t count = step.end - step.begin;
  counted = batching_.tail != Tail::kPad || count == batching_.global_batch;
  if (counted) {
    const std::size_t before = out.size();
    cursor_->next_step(out, passed);
    step.real_rows = out.size() - before;
    step.first_position = step.begin + cursor_->offset();
    return step;
  }
  const ShareRange mine = share_of(batching_.share, batching_.global_batch);
  fill_up(step.begin, count, mine, out);
  step.first_position = step.begin + mine.begin;
  step.real_rows = std::clamp(count, mine.begin, mine.end) - mine.begin;
  return step;
}

/// The rank's part of a last batch that is filled up: its i-th sample, over all ranks, is sample i modulo `count`.
void StepPlanner::fill_up(std::uint64_t begin, std::uint64_t count, ShareRange mine, std::vector<SampleRef>& out) {
  std::vector<SampleRef> all, ignored;
  sampler_->cursor({walk_.epoch, begin, batching_.global_batch, {}})->next_step(all, ignored);
  for (std::uint64_t i = mine.begin; i < mine.end; ++i) out.push_back(all[i % count]);
}

}  // namespace headrace
