#include "dataset/facts/moments.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headrace {
namespace {

constexpr std::size_t kTileValues = 2048;  // 16 KiB of them, and as much of weights
constexpr std::size_t kLanes = 8;          // sums side by side, so that the compiler uses wide registers
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

void FeatureMoments::add(const FeatureMoments& other) {
  nans += other.nans;
  infinities += other.infinities;
  if (other.count == 0) return;
  if (count == 0) {
    count = other.count;
    mean = other.mean;
    mean_rest = other.mean_rest;
    squares = other.squares;
    least = other.least;
    largest = other.largest;
    return;
  }
  const auto here = static_cast<double>(count), there = static_cast<double>(other.count), all = here + there;
  const double distance = (other.mean - mean) + (other.mean_rest - mean_rest);
  mean_rest += distance * (there / all);
  const double whole = mean + mean_rest;
  mean_rest -= whole - mean;  // what the sum was rounded by
  mean = whole;
  squares += other.squares + distance * distance * (here * there / all);
  least = std::min(least, other.least);
  largest = std::max(largest, other.largest);
  count += other.count;
}

Moments::Moments(std::size_t features, const Where* where)
    : where_(where),
      features_(features),
      tile_values_(std::max<std::size_t>(kTileValues / features, 1) * features),
      lanes_(features >= kLanes ? features : (kLanes + features - 1) / features * features),
      values_(tile_values_),
      weights_(tile_values_),
      chosen_(where ? tile_values_ : 0),
      spare_(where ? where->depth() * tile_values_ : 0) {
  for (std::vector<double>* lanes : {&count_, &sum_, &mean_, &squares_, &rest_, &least_, &largest_})
    lanes->resize(lanes_);
}

void Moments::add(std::span<const double> values) {
  for (std::size_t first = 0; first < values.size(); first += tile_values_)
    add_tile(values.subspan(first, std::min(tile_values_, values.size() - first)));
}

/// Count what is not finite, and give it no weight.
void Moments::leave_out_infinite(std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    FeatureMoments& feature = features_[i % features_.size()];
    if (weights_[i] > 0) ++(std::isnan(values[i]) ? feature.nans : feature.infinities);
    weights_[i] = values_[i] = 0;
  }
}

void Moments::add_tile(std::span<const double> values) {
  const std::size_t n = values.size();
  double none = 0;  // NaN if anything is not finite
  for (std::size_t i = 0; i < n; ++i) {
    values_[i] = values[i];
    none += values[i] * 0;
  }
  if (where_) {
    where_->choose(values, std::span(chosen_).first(n), spare_);
    for (std::size_t i = 0; i < n; ++i) weights_[i] = chosen_[i];
  } else {
    std::fill_n(weights_.begin(), n, 1.0);
  }
  if (none != 0 || std::isnan(none)) leave_out_infinite(values);

  for (std::vector<double>* lanes : {&count_, &sum_, &squares_, &rest_}) std::ranges::fill(*lanes, 0.0);
  std::ranges::fill(least_, kInfinity);
  std::ranges::fill(largest_, -kInfinity);
  for (std::size_t first = 0; first < n; first += lanes_) {
    const std::size_t lanes = std::min(lanes_, n - first);
    const double* const value = values_.data() + first;
    const double* const weight = weights_.data() + first;
    for (std::size_t l = 0; l < lanes; ++l) {
      count_[l] += weight[l];
      sum_[l] += weight[l] * value[l];
      least_[l] = std::min(least_[l], weight[l] > 0 ? value[l] : kInfinity);
      largest_[l] = std::max(largest_[l], weight[l] > 0 ? value[l] : -kInfinity);
    }
  }
  const std::size_t features = features_.size();
  for (std::size_t f = 0; f < features; ++f) {
    for (std::size_t l = f + features; l < lanes_; l += features) {
      count_[f] += count_[l];
      sum_[f] += sum_[l];
    }
    const double mean = count_[f] > 0 ? sum_[f] / count_[f] : 0;
    for (std::size_t l = f; l < lanes_; l += features) mean_[l] = mean;
  }
  for (std::size_t first = 0; first < n; first += lanes_) {
    const std::size_t lanes = std::min(lanes_, n - first);
    const double* const value = values_.data() + first;
    const double* const weight = weights_.data() + first;
    for (std::size_t l = 0; l < lanes; ++l) {
      const double distance = weight[l] * (value[l] - mean_[l]);
      squares_[l] += distance * distance;
      rest_[l] += distance;
    }
  }
  for (std::size_t f = 0; f < features; ++f) {
    FeatureMoments tile;
    double rest = 0;  // what the mean was rounded by
    tile.least = kInfinity;
    tile.largest = -kInfinity;
    for (std::size_t l = f; l < lanes_; l += features) {
      tile.squares += squares_[l];
      rest += rest_[l];
      tile.least = std::min(tile.least, least_[l]);
      tile.largest = std::max(tile.largest, largest_[l]);
    }
    tile.count = static_cast<std::uint64_t>(count_[f]);
    if (tile.count == 0) continue;
    tile.mean = mean_[f];
    tile.mean_rest = rest / count_[f];
    tile.squares = std::max(tile.squares - rest * rest / count_[f], 0.0);
    features_[f].add(tile);
  }
}

}  // namespace headrace
