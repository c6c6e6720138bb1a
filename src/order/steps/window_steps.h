// WindowSteps: how the samples of one window are cut into steps that stay within a budget.
//
// A window's samples lie in lanes of equal length. A step is one set of indices, the same in all lanes: so every rank,
// which owns lanes, has as many steps and samples as any other. Integers only: equal costs give equal steps anywhere.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace headrace {

/// How the indices of a window make steps.
enum class StepArrangement : std::uint8_t {
  kInOrder,  ///< Runs of indices as they come.
  kDeal,     ///< Indices sorted by cost and dealt, so that every step holds all costs.
  kBucket,   ///< Indices sorted by cost, about, and cut into runs as they come: a step holds like costs.
};

struct StepRules {
  static constexpr std::uint64_t kMostBudget = (std::uint64_t{1} << 31) - 1;
  StepArrangement arrangement = StepArrangement::kDeal;
  std::uint64_t budget = 1;  ///< Highest cost of a lane's samples in a step; at most kMostBudget.
  std::uint64_t most_indices = std::numeric_limits<std::uint32_t>::max();  ///< In a step.
  /// The cost of a step is its number of indices times the highest cost in any lane, not a sum. Not for kDeal.
  bool padded = false;
};

/// Plans one window after another; keeps its memory. Threads: one at a time.
class WindowSteps {
 public:
  explicit WindowSteps(const StepRules& rules) : rules_(rules) {}

  /// Cut a window. \param lanes  Costs by lane and index; a lane is `length` long. For kDeal the costs of each
  /// lane are in descending order. An absent sample costs 0 and comes last in its lane.
  void plan(std::span<const std::span<const std::uint32_t>> lanes, std::size_t length);

  [[nodiscard]] std::size_t size() const { return begins_.size() - 1; }
  /// Return the indices of a step, ascending.
  [[nodiscard]] std::span<const std::uint32_t> step(std::size_t i) const {
    return std::span(indices_).subspan(begins_[i], begins_[i + 1] - begins_[i]);
  }

 private:
  using Lanes = std::span<const std::span<const std::uint32_t>>;
  void cut_evenly(Lanes lanes, std::size_t length);
  template <class Reach>
  void cut(std::size_t length, std::uint64_t cap, Reach&& reach, std::vector<std::uint32_t>& ends) const;
  template <class Reach>
  void choose_cap(std::size_t length, Reach&& reach);
  void deal(Lanes lanes, std::size_t length);
  void grow_tree(std::size_t leaves);
  void set_key(std::size_t leaf, std::uint64_t key);

  const StepRules rules_;
  std::vector<std::uint32_t> begins_{0}, indices_;
  // Used by cut_evenly():
  std::vector<std::uint64_t> sums_;  // by lane, of the costs before each index
  std::vector<std::uint32_t> highest_, ends_, tried_;
  // Used by deal(): fullest lane and number of each step, in a tree whose root is the least loaded step.
  std::vector<std::uint64_t> tree_;
  std::vector<std::uint32_t> loads_, counts_, step_of_;
};

}  // namespace headrace
