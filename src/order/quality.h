// How well an order mixes, computed from the plan itself: no data is read, and one epoch is enough.
//
// A batch of B samples of which s_g come from group g (a block, a file, a class; w_g of all samples belong to it) is as
// noisy as one of B/D independent draws for a quantity that is constant in a group:
//   D = mean over batches of sum_g (s_g - w_g)^2 / ((1 - sum_g w_g^2) / B),
// the design effect (Kish 1965) of drawing in clusters. 1: as independent draws. B: each batch is one group. Below 1:
// more even than chance. A label whose intra-group correlation is rho (one-way analysis of variance) has
// Deff = 1 + rho (D - 1).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "order/sampler.h"

namespace headrace {

/// Collects the spread of groups over batches.
class GroupSpread {
 public:
  /// \param sizes  Samples of each group in the whole data set.
  explicit GroupSpread(const std::vector<std::uint64_t>& sizes);
  /// Add the groups of a batch's samples.
  void add(std::span<const std::uint32_t> groups);

  [[nodiscard]] std::uint64_t batches() const { return batches_; }
  /// Return D above; 1 for a single group, and before the first batch.
  [[nodiscard]] double design_effect() const;
  /// Return groups in a batch, on average, and what independent draws would give.
  [[nodiscard]] double groups_a_batch() const;
  [[nodiscard]] double groups_by_chance() const;
  /// Return the entropy of a batch's shares in bits, on average; and of the groups' sizes.
  [[nodiscard]] double entropy_bits() const;
  [[nodiscard]] double whole_entropy_bits() const;
  /// Return the correlation of a batch's shares with those of the batch `lag` steps later; near 0 where batches are
  /// independent.
  [[nodiscard]] double lag_correlation() const;

 private:
  std::vector<double> shares_;  // w_g
  double sum_of_squares_ = 0;
  std::uint64_t batches_ = 0, samples_ = 0;
  double spread_ = 0, groups_ = 0, entropy_ = 0, lag_product_ = 0, lag_squares_ = 0;
  std::unordered_map<std::uint32_t, std::uint32_t> counts_;
  std::vector<std::pair<std::uint32_t, double>> last_;  // deviations of the batch before, in few groups only
};

/// Figures of one order at one batch size.
struct OrderQuality {
  std::uint64_t batch_rows = 0, batches = 0;  ///< Looked at.
  double block_effect = 1, file_effect = 1;   ///< D for blocks and for files.
  double blocks_a_batch = 0, blocks_by_chance = 0, files_a_batch = 0, files_by_chance = 0;
  double same_block_neighbours = 0;  ///< Share of neighbours in a batch that are of one block.
  double lag_correlation = 0;        ///< Between the files' shares of one batch and the next.
};

/// Deff that counts as good as independent draws.
inline constexpr double kGoodEffect = 1.1;

/// Return "2.67", "85".
std::string effect_text(double effect);

/// Measure an epoch of the order, cut into whole batches of `global_batch`, as the rank gets them. At most
/// `most_batches` are looked at, in runs spread over the epoch. Cost: 10 ns a sample looked at.
OrderQuality measure_order(const Sampler& sampler, const BlockTable& blocks, std::uint64_t global_batch,
                           RankShare share, std::uint64_t epoch, std::uint64_t most_batches = 4096);

/// Return the intra-group correlation of a quantity: one-way analysis of variance over groups (Fisher 1925), for class
/// numbers over the classes' indicators together. 0 where it does not vary. Holds nothing of the size of the rows.
/// \param group_rows  Rows of each group; groups follow each other in `values`.
double intra_group_correlation(std::span<const double> values, std::span<const std::uint64_t> group_rows);
double intra_group_correlation_of_classes(std::span<const std::uint32_t> classes, std::uint32_t num_classes,
                                          std::span<const std::uint64_t> group_rows);

}  // namespace headrace
