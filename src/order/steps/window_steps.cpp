#include "order/steps/window_steps.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace headrace {
namespace {
constexpr int kStepBits = 24;  // of a key; the load is above
constexpr std::uint64_t kFull = ~std::uint64_t{0};
}  // namespace

void WindowSteps::plan(Lanes lanes, std::size_t length) {
  begins_.assign(1, 0);
  if (rules_.arrangement == StepArrangement::kDeal) return deal(lanes, length);
  cut_evenly(lanes, length);
  indices_.resize(length);
  std::iota(indices_.begin(), indices_.end(), 0);
  begins_.insert(begins_.end(), ends_.begin(), ends_.end());
}

// ------------------------------------------------------------------------------------------------------ runs of
// indices

/// Greedy: each step is the longest run that stays under `cap`, one index at least. \param reach  (first index, cap) →
/// end of the longest run from there.
template <class Reach>
void WindowSteps::cut(std::size_t length, std::uint64_t cap, Reach&& reach, std::vector<std::uint32_t>& ends) const {
  ends.clear();
  for (std::size_t a = 0; a < length; ends.push_back(static_cast<std::uint32_t>(a))) {
    const std::size_t end = std::min<std::size_t>(reach(a, cap), a + rules_.most_indices);
    a = std::min(length, std::max(a + 1, end));
  }
}

/// The smallest cap that needs no more steps than the budget does, to within 1/256: no runt at the window's end.
template <class Reach>
void WindowSteps::choose_cap(std::size_t length, Reach&& reach) {
  cut(length, rules_.budget, reach, ends_);
  std::uint64_t low = 0, high = rules_.budget;
  while (high - low > std::max<std::uint64_t>(1, rules_.budget / 256)) {
    const std::uint64_t middle = (low + high) / 2;
    cut(length, middle, reach, tried_);
    if (tried_.size() <= ends_.size()) {
      ends_.swap(tried_);
      high = middle;
    } else {
      low = middle;
    }
  }
}

void WindowSteps::cut_evenly(Lanes lanes, std::size_t length) {
  if (rules_.padded) {
    highest_.assign(length, 1);
    for (const auto lane : lanes)
      for (std::size_t i = 0; i < length; ++i) highest_[i] = std::max(highest_[i], lane[i]);
    return choose_cap(length, [&](std::size_t a, std::uint64_t cap) {
      std::uint64_t top = 0;
      std::size_t b = a;
      for (; b < length && b - a < rules_.most_indices; ++b) {
        top = std::max<std::uint64_t>(top, highest_[b]);
        if (top * (b - a + 1) > cap) break;
      }
      return b;
    });
  }
  sums_.resize(lanes.size() * (length + 1));
  for (std::size_t u = 0; u < lanes.size(); ++u) {
    std::uint64_t* const sums = sums_.data() + u * (length + 1);
    sums[0] = 0;
    for (std::size_t i = 0; i < length; ++i) sums[i + 1] = sums[i] + lanes[u][i];
  }
  choose_cap(length, [&](std::size_t a, std::uint64_t cap) {
    std::size_t end = length;
    for (std::size_t u = 0; u < lanes.size(); ++u) {
      const std::uint64_t* const sums = sums_.data() + u * (length + 1);
      end = static_cast<std::size_t>(std::upper_bound(sums + a, sums + end + 1, sums[a] + cap) - sums) - 1;
    }
    return end;
  });
}

// --------------------------------------------------------------------------------------------------------------
// dealing

/// Leaves at the end; each node is the least of its two children.
void WindowSteps::grow_tree(std::size_t leaves) {
  const std::size_t half = tree_.size() / 2, wanted = std::bit_ceil(std::max<std::size_t>(leaves, 2));
  if (wanted <= half) return;
  std::vector<std::uint64_t> tree(2 * wanted, kFull);
  std::copy(tree_.begin() + static_cast<std::ptrdiff_t>(half), tree_.end(),
            tree.begin() + static_cast<std::ptrdiff_t>(wanted));
  for (std::size_t node = wanted - 1; node > 0; --node) tree[node] = std::min(tree[2 * node], tree[2 * node + 1]);
  tree_.swap(tree);
}

void WindowSteps::set_key(std::size_t leaf, std::uint64_t key) {
  std::size_t node = tree_.size() / 2 + leaf;
  tree_[node] = key;
  for (node /= 2; node > 0; node /= 2) tree_[node] = std::min(tree_[2 * node], tree_[2 * node + 1]);
}

/// The costliest index first, each to the step whose fullest lane is emptiest; a step more wherever it does not fit
/// there, and then all over again with that many steps, until none had to be added. Indices that are over the budget by
/// themselves are steps of their own, and come first; those that cost nothing go to the steps of fewest indices.
void WindowSteps::deal(Lanes lanes, std::size_t length) {
  const std::size_t num_lanes = lanes.size();
  const std::uint64_t budget = rules_.budget;
  const auto highest = [&](std::size_t i) {
    std::uint32_t top = 0;
    for (const auto lane : lanes) top = std::max(top, lane[i]);
    return top;
  };
  std::size_t alone = 0;
  while (alone < length && highest(alone) > budget) ++alone;
  std::uint64_t fullest = 0;
  for (const auto lane : lanes)
    fullest = std::max(fullest, std::accumulate(lane.begin() + static_cast<std::ptrdiff_t>(alone),
                                                lane.begin() + static_cast<std::ptrdiff_t>(length), std::uint64_t{0}));
  std::size_t free = length;  // from there on nothing costs anything: one step would get it all
  while (free > alone && highest(free - 1) == 0) --free;
  const auto key_of = [&](std::size_t step, std::uint64_t load) {
    return counts_[step] == rules_.most_indices ? kFull : load << kStepBits | step;
  };
  const std::size_t left = length - alone;
  std::size_t wanted = std::max<std::uint64_t>(
      {1, (fullest + budget - 1) / budget, (left + rules_.most_indices - 1) / rules_.most_indices});
  std::size_t steps = 0;
  step_of_.resize(length);
  while (left > 0 && steps != wanted) {
    if (steps > 0) wanted = steps;
    steps = wanted;
    tree_.clear();
    grow_tree(steps);
    loads_.assign(steps * num_lanes, 0);
    counts_.assign(steps, 0);
    for (std::size_t s = 0; s < steps; ++s) tree_[tree_.size() / 2 + s] = s;
    for (std::size_t node = tree_.size() / 2 - 1; node > 0; --node)
      tree_[node] = std::min(tree_[2 * node], tree_[2 * node + 1]);
    for (std::size_t i = alone; i < length; ++i) {
      if (i == free)
        for (std::size_t s = 0; s < steps; ++s) set_key(s, key_of(s, counts_[s]));
      const std::uint64_t least = tree_[1];
      std::size_t s = static_cast<std::size_t>(least & ((std::uint64_t{1} << kStepBits) - 1));
      std::uint64_t load = ~std::uint64_t{0};
      if (least != kFull) {
        load = 0;
        const std::uint32_t* const loads = loads_.data() + s * num_lanes;
        for (std::size_t u = 0; u < num_lanes; ++u) load = std::max<std::uint64_t>(load, loads[u] + lanes[u][i]);
      }
      if (load > budget) {
        s = steps++;
        load = highest(i);
        loads_.resize(steps * num_lanes, 0);
        counts_.push_back(0);
        grow_tree(steps);
      }
      std::uint32_t* const loads = loads_.data() + s * num_lanes;
      for (std::size_t u = 0; u < num_lanes; ++u) loads[u] += lanes[u][i];
      step_of_[i] = static_cast<std::uint32_t>(s);
      ++counts_[s];
      set_key(s, key_of(s, i < free ? load : counts_[s]));
    }
  }
  // Steps and their indices: those alone, then the others by a counting sort.
  for (std::size_t i = 0; i < alone; ++i) begins_.push_back(static_cast<std::uint32_t>(i + 1));
  indices_.resize(length);
  for (std::size_t i = 0; i < alone; ++i) indices_[i] = static_cast<std::uint32_t>(i);
  if (left == 0) return;
  std::uint32_t at = static_cast<std::uint32_t>(alone);
  for (std::size_t s = 0; s < steps; ++s) {
    const std::uint32_t count = counts_[s];
    counts_[s] = at;
    at += count;
    if (count > 0) begins_.push_back(at);
  }
  for (std::size_t i = alone; i < length; ++i) indices_[counts_[step_of_[i]]++] = static_cast<std::uint32_t>(i);
}

}  // namespace headrace
