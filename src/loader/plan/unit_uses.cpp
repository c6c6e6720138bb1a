#include "loader/plan/unit_uses.h"

#include <algorithm>

namespace headrace {
namespace {

constexpr std::uint64_t kMostUses = std::uint64_t{1} << 20;
constexpr int kStepsAQuery = 4;  // so that no thread looks far ahead while others wait for it

}  // namespace

void UnitUses::begin_at(Moment now) {
  cursor_.reset();
  looked_to_ = newest_ = now;
  first_seen_ += steps_seen_.size();
  steps_seen_.clear();
  uses_.clear();
  num_uses_ = 0;
  started_ = true;
}

/// \return False where there is nothing to be known.
bool UnitUses::look_at_a_step() {
  Moment& at = looked_to_;
  if (steps_->ends_at(at.epoch, at.position)) {
    at = {at.epoch + 1, 0};
    cursor_.reset();
  }
  if (!steps_->is_settled(at.epoch, at.position) || steps_->ends_at(at.epoch, at.position)) return false;
  if (!cursor_) cursor_ = steps_->cursor(at.epoch, at.position);
  samples_.clear(), counted_elsewhere_.clear(), parts_.clear(), ends_.clear();
  bool counted = true;
  const Step step = cursor_->next(samples_, counted_elsewhere_, counted);
  map_->expand(samples_, {at.epoch, seed_}, parts_, ends_);
  const std::uint64_t number = first_seen_ + steps_seen_.size();
  steps_seen_.push_back({at.epoch, step.begin});
  for (const Part& part : parts_) {
    std::deque<std::uint64_t>& uses = uses_[part.unit];
    if (!uses.empty() && uses.back() == number) continue;
    uses.push_back(number);
    ++num_uses_;
  }
  at.position = step.end;
  return true;
}

/// Threads ask a little out of turn. What lies further back, or ahead of all that was looked at, is of an epoch that
/// was begun once more, or of another place.
bool UnitUses::is_another_walk(Moment now) const {
  if (now > looked_to_) return true;
  if (now >= newest_) return false;
  return newest_.position > (now.epoch == newest_.epoch ? now.position : 0) + window_samples_;
}

/// \return Its number. Forget the steps before it.
std::uint64_t UnitUses::first_step_after(Moment now) {
  while (!steps_seen_.empty() && steps_seen_.front() < now) {
    steps_seen_.pop_front();
    ++first_seen_;
  }
  return first_seen_;
}

std::uint64_t UnitUses::next_use(std::uint32_t unit, std::uint64_t epoch, std::uint64_t position) {
  const Moment now{epoch, position};
  const std::lock_guard lock(mutex_);
  if (!started_ || is_another_walk(now)) begin_at(now);
  newest_ = std::max(newest_, now);
  for (int i = 0; i < kStepsAQuery && num_uses_ < kMostUses && look_at_a_step(); ++i) {
  }
  const std::uint64_t first = first_step_after(now);
  const auto found = uses_.find(unit);
  if (found == uses_.end()) return kFar;
  std::deque<std::uint64_t>& uses = found->second;
  for (; !uses.empty() && uses.front() < first; --num_uses_) uses.pop_front();
  return uses.empty() ? kFar : uses.front();
}

}  // namespace headrace
