// Moments: count, mean, spread, least and largest of values, feature by feature, in one pass.
//
// A tile of values that stays in the processor's cache is summed up twice (its mean, then the squares around it), and
// joins what came before by Chan's formula. The result depends on the values and their order only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dataset/samples/where.h"

namespace headrace {

/// Moments of one feature. Values that are not finite are counted, and belong to nothing else.
struct FeatureMoments {
  std::uint64_t count = 0, nans = 0, infinities = 0;
  /// The mean is mean + mean_rest: one number would be too coarse where values lie close together and far from 0.
  double mean = 0, mean_rest = 0;
  double squares = 0;  ///< Sum of the squared distances from the mean.
  double least = 0, largest = 0;

  /// Join those of other values.
  void add(const FeatureMoments& other);
  friend bool operator==(const FeatureMoments&, const FeatureMoments&) = default;
};

/// Threads: one.
class Moments {
 public:
  /// \param where  Null: every value. It must outlive this.
  Moments(std::size_t features, const Where* where);
  /// Add whole vectors of `features` values.
  void add(std::span<const double> values);
  /// Return how many values add() is best given at once.
  [[nodiscard]] std::size_t tile_values() const { return tile_values_; }
  [[nodiscard]] const std::vector<FeatureMoments>& features() const { return features_; }

 private:
  void add_tile(std::span<const double> values);
  void leave_out_infinite(std::span<const double> values);

  const Where* const where_;
  std::vector<FeatureMoments> features_;
  std::size_t tile_values_, lanes_;
  std::vector<double> values_, weights_;
  std::vector<std::uint8_t> chosen_, spare_;
  std::vector<double> count_, sum_, mean_, squares_, rest_, least_, largest_;  // of each lane
};

}  // namespace headrace
