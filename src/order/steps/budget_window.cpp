#include "order/steps/budget_window.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "base/random/philox.h"
#include "order/key_use.h"

namespace headrace {
namespace {

/// Sort (cost << 32 | index) by falling cost, keeping the order of equal ones: digits of 11 bits from the lowest.
void sort_falling(std::vector<std::uint64_t>& entries, std::vector<std::uint64_t>& other, std::uint32_t most) {
  constexpr int kBits = 11;
  constexpr std::uint32_t kDigits = 1 << kBits, kMask = kDigits - 1;
  if (entries.size() < 256) {
    std::ranges::stable_sort(entries, std::greater<>{}, [](std::uint64_t e) { return e >> 32; });
    return;
  }
  other.resize(entries.size());
  for (int shift = 0; shift < 32 && most >> shift != 0; shift += kBits) {
    std::uint32_t at[kDigits + 1] = {};
    for (const std::uint64_t e : entries) ++at[kMask - (e >> (32 + shift) & kMask) + 1];
    std::partial_sum(at, at + kDigits, at);
    for (const std::uint64_t e : entries) other[at[kMask - (e >> (32 + shift) & kMask)]++] = e;
    entries.swap(other);
  }
}

}  // namespace

const std::vector<std::uint32_t>& Spread::of(std::uint32_t count) {
  if (order_.size() == count) return order_;
  starts_.assign(count + 1, 0);
  for (std::uint32_t i = 0; i < count; ++i) ++starts_[bucket(i, count) + 1];
  std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
  order_.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) order_[starts_[bucket(i, count)]++] = i;
  for (std::uint32_t k = 1; k < count; ++k)
    for (std::uint32_t at = k; at > 0 && key(order_[at]) < key(order_[at - 1]); --at)
      std::swap(order_[at], order_[at - 1]);
  return order_;
}

BudgetSteps::Window::Window(const BudgetSteps& plan, std::uint64_t epoch, std::uint64_t number)
    : plan_(plan),
      epoch_(epoch),
      number_(number),
      planner_({plan.options_.arrangement, plan.options_.tokens, plan.options_.most_samples, plan.options_.padded}),
      lanes_(plan.options_.lanes) {
  // In order, a lane takes one sample of each of its streams in turn; else all of a stream's at once.
  const std::uint64_t streams = plan.sampler_->own_parts(1);
  turn_ = plan.options_.arrangement == StepArrangement::kInOrder && streams > 0 ? streams : plan.window_;
  const std::uint32_t parts = plan.owns_parts_ ? plan.options_.lanes : 1;
  for (std::uint32_t u = 0; u < parts; ++u)
    cursors_.push_back(plan.sampler_->cursor({epoch, number * plan.window_, turn_, {u, parts}}));
}

void BudgetSteps::Window::next(std::uint32_t first_counted, std::uint32_t end_counted,
                               std::vector<BlockRows>& counted_elsewhere) {
  begin_ = number_ * plan_.window_;
  take_samples(first_counted, end_counted, counted_elsewhere);
  const Tail tail = plan_.options_.tail;
  std::size_t length = 0, shortest = ~std::size_t{0};
  for (const Lane& lane : lanes_) {
    length = std::max(length, lane.samples.size());
    shortest = std::min(shortest, lane.samples.size());
  }
  if (tail == Tail::kPad && shortest < length) pad(length);
  views_.clear();
  for (std::size_t u = 0; u < lanes_.size(); ++u) {
    sort(u, length);
    views_.emplace_back(lanes_[u].costs);
  }
  if (tail == Tail::kDrop) length = shortest;
  planner_.plan(views_, length);
  order_.resize(planner_.size());
  std::iota(order_.begin(), order_.end(), 0);
  if (plan_.options_.arrangement != StepArrangement::kInOrder)
    keyed_shuffle(std::span(order_), RandomKey::of({plan_.seed_, epoch_, key_use::kStepOrder, number_}));
  complete_ = std::ranges::all_of(lanes_, [](const Lane& lane) { return lane.missing + lane.padding == 0; });
  listed_ = false;
  ++number_;
}

std::uint64_t BudgetSteps::Window::samples_of(std::size_t step) const {
  const auto indices = planner_.step(order_[step]);
  if (complete_) return indices.size() * lanes_.size();
  std::uint64_t samples = 0;
  for (const Lane& lane : lanes_)
    samples +=
        static_cast<std::uint64_t>(std::ranges::count_if(indices, [&](std::uint32_t i) { return lane.is_real(i); }));
  return samples;
}

std::uint64_t BudgetSteps::Window::listed(std::size_t step, std::uint32_t lane) const {
  const auto indices = planner_.step(order_[step]);
  if (complete_) return indices.size();
  return static_cast<std::uint64_t>(std::ranges::lower_bound(indices, lanes_[lane].entries.size()) - indices.begin());
}

std::uint64_t BudgetSteps::Window::rows_in(std::uint32_t block, std::uint32_t first, std::uint32_t end) const {
  if (!plan_.owns_parts_) return cursors_[0]->rows_in(block);
  std::uint64_t rows = 0;
  for (std::uint32_t u = first; u < end; ++u) rows += cursors_[u]->rows_in(block);
  return rows;
}

void BudgetSteps::Window::list_all() {
  const std::size_t steps = planner_.size();
  places_.resize(views_[0].size());
  begins_.assign(1, 0);
  for (std::size_t s = 0; s < steps; ++s) {
    const auto indices = planner_.step(s);
    const auto count = static_cast<std::uint32_t>(indices.size());
    for (std::uint32_t k = 0; k < count; ++k) {
      const std::uint32_t which = in_order() ? k : spread_.of(count)[k];
      places_[indices[which]] = {begins_.back() * lanes_.size() + k, count};
    }
    begins_.push_back(begins_.back() + count);
  }
  list_.resize(begins_.back() * lanes_.size());
  for (std::size_t u = 0; u < lanes_.size(); ++u) {
    const Lane& lane = lanes_[u];
    for (std::size_t i = 0; i < lane.entries.size(); ++i)
      list_[places_[i].first + u * places_[i].stride] = lane.samples[static_cast<std::uint32_t>(lane.entries[i])];
  }
  listed_ = true;
}

void BudgetSteps::Window::take_samples(std::uint32_t first_counted, std::uint32_t end_counted,
                                       std::vector<BlockRows>& counted_elsewhere) {
  const std::uint64_t count = std::min(plan_.window_, plan_.samples_ - begin_);
  for (Lane& lane : lanes_) {
    lane.samples.clear();
    lane.padding = 0;
  }
  if (plan_.owns_parts_) {
    for (std::uint32_t u = 0; u < lanes_.size(); ++u) {
      const bool counts = u >= first_counted && u < end_counted;
      for (std::uint64_t at = 0; at < count; at += turn_)
        cursors_[u]->next_step(lanes_[u].samples, counts ? counted_elsewhere : ignored_);
    }
    ignored_.clear();
    return;
  }
  line_.clear();
  for (std::uint64_t at = 0; at < count; at += turn_) cursors_[0]->next_step(line_, counted_elsewhere);
  if (lanes_.size() == 1) return lanes_[0].samples.swap(line_);
  for (Lane& lane : lanes_) lane.samples.reserve(line_.size() / lanes_.size() + 1);
  for (std::size_t i = 0, u = 0; i < line_.size(); ++i, u = u + 1 == lanes_.size() ? 0 : u + 1)
    lanes_[u].samples.push_back(line_[i]);
}

void BudgetSteps::Window::pad(std::size_t length) {
  const auto some = std::ranges::find_if(lanes_, [](const Lane& lane) { return !lane.samples.empty(); });
  for (Lane& lane : lanes_)
    while (lane.samples.size() < length) {
      lane.samples.push_back(lane.samples.empty() ? some->samples[0] : lane.samples[0]);
      ++lane.padding;
    }
}

/// Sort by up to a quarter more than each costs, drawn anew in every epoch: sorted by cost alone, the samples of a
/// window that holds all of them would come in the same steps each time.
void BudgetSteps::Window::sort_about(std::size_t u) {
  Lane& lane = lanes_[u];
  constexpr std::uint32_t kFraction = 16, kMost = ~std::uint32_t{0} / (2 * kFraction);
  KeyedRandom random(RandomKey::of({plan_.seed_, epoch_, key_use::kLikeLengths, number_, u}));
  std::uint32_t highest = 0;
  for (std::uint64_t& entry : lane.entries) {
    const std::uint64_t cost = std::min<std::uint64_t>(entry >> 32, kMost), least = cost * kFraction;
    const auto key = static_cast<std::uint32_t>(least + random.below(least / 4 + kFraction));
    highest = std::max(highest, key);
    entry = std::uint64_t{key} << 32 | static_cast<std::uint32_t>(entry);
  }
  sort_falling(lane.entries, other_, highest);
  for (std::uint64_t& entry : lane.entries) {
    const auto place = static_cast<std::uint32_t>(entry);
    entry = std::uint64_t{lane.costs[place]} << 32 | place;
  }
}

void BudgetSteps::Window::sort(std::size_t u, std::size_t length) {
  Lane& lane = lanes_[u];
  lane.costs.resize(lane.samples.size());
  plan_.lengths_->lengths(lane.samples, lane.costs);
  lane.entries.resize(lane.samples.size());
  std::uint32_t most = 0;
  for (std::size_t i = 0; i < lane.entries.size(); ++i) {
    const std::uint32_t cost = lane.costs[i];
    most = std::max(most, cost);
    lane.entries[i] = std::uint64_t{cost} << 32 | i;
  }
  if (plan_.options_.arrangement == StepArrangement::kBucket)
    sort_about(u);
  else if (plan_.options_.arrangement == StepArrangement::kDeal)
    sort_falling(lane.entries, other_, most);
  for (std::size_t i = 0; i < lane.entries.size(); ++i)
    lane.costs[i] = static_cast<std::uint32_t>(lane.entries[i] >> 32);
  lane.missing = length - lane.costs.size();
  lane.costs.resize(length, 0);
}

}  // namespace headrace
