#include "order/steps/cut_steps.h"

#include <algorithm>

namespace headrace {
namespace {

/// Return the batch that holds a position; their number, past the end.
std::uint64_t batch_at(std::span<const std::uint64_t> ends, std::uint64_t position) {
  return static_cast<std::uint64_t>(std::upper_bound(ends.begin(), ends.end(), position) - ends.begin());
}

/// Return the samples before a batch; those of the epoch, past the last batch.
std::uint64_t begin_of(std::span<const std::uint64_t> ends, std::uint64_t batch) {
  return batch == 0 ? 0 : ends[std::min<std::uint64_t>(batch, ends.size()) - 1];
}

class CutCursor final : public StepCursor {
 public:
  CutCursor(std::shared_ptr<const EpochCut> cut, std::uint64_t position, RankShare share)
      : cut_(std::move(cut)),
        ends_(cut_->batch_ends()),
        first_batch_(batch_at(ends_, position)),
        first_position_(position),
        share_(share),
        batch_(first_batch_),
        position_(position) {}

  Step next(std::vector<SampleRef>& out, std::vector<BlockRows>&, bool& counted) override {
    Step step{.index = batch_ / share_.world_size, .begin = position_};
    const std::uint64_t mine = batch_ + share_.rank;
    batch_ = std::min<std::uint64_t>(batch_ + share_.world_size, ends_.size());
    step.end = position_ = begin_of(ends_, batch_);
    counted = mine < batch_;
    const PositionRange range = counted ? range_of(mine) : PositionRange{step.begin, step.begin + 1};
    const std::size_t before = out.size();
    cut_->append(range, out);
    step.first_position = range.begin;
    step.real_rows = counted ? out.size() - before : 0;
    step.last = batch_ == ends_.size();
    return step;
  }

  [[nodiscard]] std::uint64_t rows_in(std::uint32_t block) const override {
    std::vector<PositionRange> ranges;
    cut_->find_block(block, ranges);
    std::uint64_t rows = 0;
    for (const PositionRange& r : ranges) {
      const std::uint64_t begin = std::max(r.begin, first_position_);
      for (std::uint64_t b = batch_at(ends_, begin); b < ends_.size() && begin_of(ends_, b) < r.end; ++b) {
        if ((b - first_batch_) % share_.world_size != share_.rank) continue;
        const PositionRange batch = range_of(b);
        const std::uint64_t from = std::max(begin, batch.begin), to = std::min(r.end, batch.end);
        if (from < to) rows += to - from;
      }
    }
    return rows;
  }

 private:
  /// Return the positions of a batch of the walk: of its first one what is left.
  [[nodiscard]] PositionRange range_of(std::uint64_t batch) const {
    return {std::max(begin_of(ends_, batch), first_position_), ends_[batch]};
  }

  const std::shared_ptr<const EpochCut> cut_;
  const std::span<const std::uint64_t> ends_;
  const std::uint64_t first_batch_, first_position_;
  const RankShare share_;
  std::uint64_t batch_, position_;
};

}  // namespace

std::uint64_t CutSteps::steps_after(std::uint64_t epoch, std::uint64_t position) const {
  const std::shared_ptr<const EpochCut> cut = cuts_->epoch(epoch);
  const std::uint64_t left = cut->batch_ends().size() - batch_at(cut->batch_ends(), position);
  return left / share_.world_size + (left % share_.world_size != 0);
}

std::uint64_t CutSteps::position_of(std::uint64_t epoch, std::uint64_t step) const {
  const std::shared_ptr<const EpochCut> cut = cuts_->epoch(epoch);
  const std::uint64_t batches = cut->batch_ends().size();
  return begin_of(cut->batch_ends(), step > batches / share_.world_size ? batches : step * share_.world_size);
}

std::uint64_t CutSteps::end_after(std::uint64_t epoch, std::uint64_t position) const {
  const std::shared_ptr<const EpochCut> cut = cuts_->epoch(epoch);
  return begin_of(cut->batch_ends(), batch_at(cut->batch_ends(), position) + share_.world_size);
}

std::unique_ptr<StepCursor> CutSteps::cursor(std::uint64_t epoch, std::uint64_t position) const {
  return std::make_unique<CutCursor>(cuts_->epoch(epoch), position, share_);
}

}  // namespace headrace
