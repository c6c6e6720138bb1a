// A window of BudgetSteps: the samples of so many positions in lanes, cut into steps. See budget_steps.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "order/steps/budget_steps.h"

namespace headrace {

/// Any stretch of a step's list should hold all costs: the i-th costliest of a lane stands by i·2654435769 mod 2^32.
/// These are spread evenly, so that a place that is nearly right follows directly.
class Spread {
 public:
  /// Return, for each place in the list of `count` samples, which of them stands there.
  const std::vector<std::uint32_t>& of(std::uint32_t count);

 private:
  static std::uint32_t key(std::uint32_t i) { return i * std::uint32_t{2654435769}; }
  static std::uint32_t bucket(std::uint32_t i, std::uint32_t count) {
    return static_cast<std::uint32_t>(std::uint64_t{key(i)} * count >> 32);
  }
  std::vector<std::uint32_t> order_, starts_;
};

/// Plans windows of one epoch, one after the other. Threads: one at a time.
class BudgetSteps::Window {
 public:
  Window(const BudgetSteps& plan, std::uint64_t epoch, std::uint64_t number);

  /// Plan the next window. \param counted_elsewhere  As Cursor::next_step(), of the lanes [first_counted, end_counted).
  void next(std::uint32_t first_counted, std::uint32_t end_counted, std::vector<BlockRows>& counted_elsewhere);

  [[nodiscard]] std::size_t num_steps() const { return order_.size(); }
  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  /// Return the samples of a step over all ranks, without padding.
  [[nodiscard]] std::uint64_t samples_of(std::size_t step) const;
  /// Return the samples that a lane has in the list of a step, padding included.
  [[nodiscard]] std::uint64_t listed(std::size_t step, std::uint32_t lane) const;
  /// Visit the samples of one lane in the list of a step: visit(sample, is padding).
  template <class Visit>
  void list(std::size_t step, std::uint32_t number, Visit&& visit) {
    const auto indices = planner_.step(order_[step]);
    if (complete_) {
      if (!listed_) list_all();
      const SampleRef* const lane = list_.data() + begins_[order_[step]] * lanes_.size() + number * indices.size();
      for (std::size_t k = 0; k < indices.size(); ++k) visit(lane[k], false);
      return;
    }
    const Lane& lane = lanes_[number];
    for (std::uint32_t k = 0; k < indices.size(); ++k) {
      const std::uint32_t i = indices[in_order() ? k : spread_.of(static_cast<std::uint32_t>(indices.size()))[k]];
      if (i >= lane.entries.size()) continue;  // absent
      const auto at = static_cast<std::uint32_t>(lane.entries[i]);
      visit(lane.samples[at], at >= lane.samples.size() - lane.padding);
    }
  }
  [[nodiscard]] std::uint64_t rows_in(std::uint32_t block, std::uint32_t first, std::uint32_t end) const;

 private:
  struct Lane {
    std::vector<SampleRef> samples;
    std::vector<std::uint32_t> costs;    // by index; of absent samples too
    std::vector<std::uint64_t> entries;  // by index: cost << 32 | place in `samples`
    std::size_t missing = 0;             // absent samples: fewer than the longest lane has
    std::size_t padding = 0;             // samples at the end that repeat others
    [[nodiscard]] bool is_real(std::uint32_t i) const {
      return i < entries.size() && static_cast<std::uint32_t>(entries[i]) < samples.size() - padding;
    }
  };

  [[nodiscard]] bool in_order() const { return plan_.options_.arrangement == StepArrangement::kInOrder; }

  /// List all steps of a window without absent samples, step by step and lane by lane. A lane is gone through
  /// in the order of its costs once, not once a step, which would miss the caches.
  void list_all();

  void take_samples(std::uint32_t first_counted, std::uint32_t end_counted, std::vector<BlockRows>& counted_elsewhere);

  /// Let lanes that are one sample short repeat their first; an empty one, that of a lane that has some.
  void pad(std::size_t length);

  void sort_about(std::size_t u);
  void sort(std::size_t u, std::size_t length);

  const BudgetSteps& plan_;
  const std::uint64_t epoch_;
  std::uint64_t number_, begin_ = 0, turn_ = 1;
  WindowSteps planner_;
  std::vector<std::unique_ptr<Cursor>> cursors_;  // one, or one a lane
  std::vector<Lane> lanes_;
  std::vector<std::span<const std::uint32_t>> views_;
  std::vector<std::uint32_t> order_;
  bool complete_ = false, listed_ = false;
  Spread spread_;
  struct ListedAt {
    std::size_t first;     // of the index in the list, for lane 0
    std::uint32_t stride;  // from lane to lane
  };
  std::vector<ListedAt> places_;     // of each index
  std::vector<std::size_t> begins_;  // indices before each step
  std::vector<SampleRef> list_;
  std::vector<std::uint64_t> other_;
  std::vector<SampleRef> line_;
  std::vector<BlockRows> ignored_;
};

}  // namespace headrace
