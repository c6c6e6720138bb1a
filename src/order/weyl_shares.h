// WeylShares: which source gives the n-th sample of a mixture, and how often each did before.
//
// Sample n belongs to the source in whose interval of [0, 2^64) the Weyl sequence a·n + b lies, a being 2^64 divided by
// the golden ratio: every stretch of N samples has N·w samples of a source of weight w, to within O(log N), and nothing
// is drawn from memory. How often it was in an interval before n follows from sums of floor((a·n + b) / 2^64), which
// Euclid's algorithm gives in 64 steps (Graham, Knuth, Patashnik: Concrete Mathematics, 3.5).
#pragma once

#include <cstdint>
#include <vector>

namespace headrace {

/// Immutable. Threads: any.
class WeylShares {
 public:
  /// \param weights  Positive; only their ratios count. \param start  Any number: where the sequence begins.
  WeylShares(const std::vector<double>& weights, std::uint64_t start);

  [[nodiscard]] std::size_t num_sources() const { return begins_.size(); }
  /// Return the source of sample `n`.
  [[nodiscard]] std::uint32_t source_of(std::uint64_t n) const;
  /// Return the samples before the n-th, n <= 2^60, that belong to `source`.
  [[nodiscard]] std::uint64_t count_before(std::size_t source, std::uint64_t n) const;

 private:
  [[nodiscard]] std::uint64_t count_below(std::uint64_t threshold, std::uint64_t n) const;

  std::uint64_t start_;
  std::vector<std::uint64_t> begins_;  // of each source's interval
};

}  // namespace headrace
