// Draws with weights, and draws that balance classes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include "base/random/keyed_permutation.h"
#include "base/random/philox.h"
#include "order/direct_cursor.h"
#include "order/key_use.h"
#include "order/random_access_sampler.h"

namespace headrace {
namespace {

double unit(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}
std::uint64_t below(std::uint64_t bits, std::uint64_t bound) {
  __extension__ using uint128 = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<uint128>(bits) * bound >> 64);
}

/// Vose's alias table (1991): a draw is one row and one coin.
struct AliasTable {
  std::vector<double> keep;
  std::vector<std::uint64_t> other;

  explicit AliasTable(const std::vector<double>& weights) : keep(weights.size()), other(weights.size()) {
    const double largest = *std::max_element(weights.begin(), weights.end());
    double total = 0;  // scaled, so that it is finite
    for (const double w : weights) total += w / largest;
    std::vector<std::uint64_t> light, heavy;
    for (std::uint64_t i = 0; i < weights.size(); ++i) {
      keep[i] = weights[i] / largest / total * static_cast<double>(weights.size());
      other[i] = i;
      (keep[i] < 1 ? light : heavy).push_back(i);
    }
    while (!light.empty() && !heavy.empty()) {
      const std::uint64_t l = light.back(), h = heavy.back();
      light.pop_back();
      other[l] = h;
      keep[h] -= 1 - keep[l];
      if (keep[h] >= 1) continue;
      heavy.pop_back();
      light.push_back(h);
    }
    for (const std::uint64_t i : heavy) keep[i] = 1;
    for (const std::uint64_t i : light)  // by rounding only; rows of weight 0 have found a heavy one
      keep[i] = weights[i] > 0 ? 1 : keep[i];
  }
};

struct AliasDraw {
  const AliasTable* table;
  RandomKey key;
  std::uint64_t operator()(std::uint64_t position) const {
    const RandomKey random = key.with(position);
    const std::uint64_t i = below(random.low, table->keep.size());
    return unit(random.high) < table->keep[i] ? i : table->other[i];
  }
};

class WeightedWithReplacement final : public RandomAccessSampler {
 public:
  WeightedWithReplacement(std::shared_ptr<const BlockTable> blocks, const std::vector<double>& weights,
                          std::uint64_t num_samples, std::uint64_t seed, std::string identity)
      : RandomAccessSampler(std::move(blocks), num_samples, std::move(identity)), table_(weights), seed_(seed) {}
  [[nodiscard]] std::string describe() const override {
    return fmt::format("{} draws with weights, with replacement", num_samples_);
  }
  [[nodiscard]] std::uint64_t memory_bytes(RankShare) const override {
    return table_.keep.size() * (sizeof(double) + sizeof(std::uint64_t));
  }
  [[nodiscard]] std::unique_ptr<Cursor> cursor(const Walk& walk) const override {
    return std::make_unique<DirectCursor<AliasDraw>>(
        *blocks_, num_samples_, walk, AliasDraw{&table_, RandomKey::of({seed_, walk.epoch, key_use::kDraw})});
  }

 private:
  AliasTable table_;
  std::uint64_t seed_;
};

/// Rows of one epoch, kept as long as a cursor uses them.
struct EpochRows {
  std::shared_ptr<const std::vector<std::uint64_t>> rows;
  std::uint64_t operator()(std::uint64_t position) const { return (*rows)[position]; }
};

class WeightedWithoutReplacement final : public RandomAccessSampler {
 public:
  WeightedWithoutReplacement(std::shared_ptr<const BlockTable> blocks, std::vector<double> weights,
                             std::uint64_t num_samples, std::uint64_t seed, std::string identity)
      : RandomAccessSampler(std::move(blocks), num_samples, std::move(identity)),
        weights_(std::move(weights)),
        seed_(seed) {}
  [[nodiscard]] std::string describe() const override {
    return fmt::format("{} draws with weights, without replacement", num_samples_);
  }
  [[nodiscard]] std::uint64_t memory_bytes(RankShare) const override {
    return weights_.size() * (2 * sizeof(double) + sizeof(std::uint64_t));  // the races of an epoch among them
  }
  [[nodiscard]] std::unique_ptr<Cursor> cursor(const Walk& walk) const override {
    return std::make_unique<DirectCursor<EpochRows>>(*blocks_, num_samples_, walk,
                                                     EpochRows{rows_of_epoch(walk.epoch)});
  }

 private:
  /// Each row runs a race that takes -log(u)/w; the first ones over the line are drawn.
  std::shared_ptr<const std::vector<std::uint64_t>> rows_of_epoch(std::uint64_t epoch) const {
    const std::lock_guard lock(mutex_);
    if (const auto known = last_.lock(); known && last_epoch_ == epoch) return known;
    const RandomKey key = RandomKey::of({seed_, epoch, key_use::kRace});
    std::vector<double> times(weights_.size());
    for (std::uint64_t i = 0; i < times.size(); ++i)
      times[i] = weights_[i] > 0 ? -std::log(unit(key.with(i).low) + 0x1p-54) / weights_[i] : HUGE_VAL;
    auto rows = std::make_shared<std::vector<std::uint64_t>>(weights_.size());
    std::iota(rows->begin(), rows->end(), 0);
    std::partial_sort(
        rows->begin(), rows->begin() + static_cast<std::ptrdiff_t>(num_samples_), rows->end(),
        [&](std::uint64_t a, std::uint64_t b) { return times[a] != times[b] ? times[a] < times[b] : a < b; });
    rows->resize(num_samples_);
    last_ = rows;
    last_epoch_ = epoch;
    return rows;
  }

  std::vector<double> weights_;
  std::uint64_t seed_;
  mutable std::mutex mutex_;
  mutable std::weak_ptr<const std::vector<std::uint64_t>> last_;
  mutable std::uint64_t last_epoch_ = 0;
};

std::string weighted_identity(const std::vector<double>& weights, bool replacement, std::uint64_t num_samples) {
  const std::uint64_t hash = hash_of_list(weights, [](double w) { return std::bit_cast<std::uint64_t>(w); });
  return fmt::format("weighted {:012x} {} {}", hash >> 16, num_samples, replacement ? "with" : "without");
}

/// Rows of each class, and the draws from them.
struct ClassRows {
  std::vector<std::vector<std::uint64_t>> rows;  // of the classes that have some
};

class BalancedDraw {
 public:
  BalancedDraw(const ClassRows& classes, RandomKey key)
      : classes_(&classes), key_(key), cycles_(classes.rows.size(), {~0ull, {1, key}}) {}
  std::uint64_t operator()(std::uint64_t position) {
    const std::uint64_t n = classes_->rows.size(), run = position / n;
    if (run != run_) {
      order_ = KeyedPermutation(n, key_.with(key_use::kClassOrder).with(run));
      run_ = run;
    }
    const std::uint64_t c = order_(position % n);
    const std::vector<std::uint64_t>& rows = classes_->rows[c];
    auto& [cycle, permutation] = cycles_[c];
    if (cycle != run / rows.size()) {
      cycle = run / rows.size();
      permutation = KeyedPermutation(rows.size(), key_.with(key_use::kClassRows).with(c).with(cycle));
    }
    return rows[permutation(run % rows.size())];
  }

 private:
  const ClassRows* classes_;
  RandomKey key_;
  std::vector<std::pair<std::uint64_t, KeyedPermutation>> cycles_;
  std::uint64_t run_ = ~0ull;
  KeyedPermutation order_{1, key_};
};

class Balanced final : public RandomAccessSampler {
 public:
  Balanced(std::shared_ptr<const BlockTable> blocks, std::span<const std::uint32_t> classes, std::uint32_t num_classes,
           std::uint64_t num_samples, std::uint64_t seed)
      : RandomAccessSampler(std::move(blocks), num_samples,
                            fmt::format("balanced {:012x} {}",
                                        hash_of_list(classes, [](std::uint64_t c) { return c; }) >> 16, num_samples)),
        seed_(seed) {
    std::vector<std::vector<std::uint64_t>> rows(num_classes);
    for (std::uint64_t i = 0; i < classes.size(); ++i) rows[classes[i]].push_back(i);
    for (auto& r : rows)
      if (!r.empty()) classes_.rows.push_back(std::move(r));
  }
  [[nodiscard]] std::string describe() const override {
    return fmt::format("{} samples, of {} classes equally many", num_samples_, classes_.rows.size());
  }
  [[nodiscard]] std::uint64_t memory_bytes(RankShare) const override {
    std::uint64_t bytes = 0;
    for (const auto& rows : classes_.rows)
      bytes += rows.capacity() * sizeof(std::uint64_t) + sizeof(std::vector<std::uint64_t>) +
               sizeof(std::pair<std::uint64_t, KeyedPermutation>);
    return bytes;
  }
  [[nodiscard]] std::unique_ptr<Cursor> cursor(const Walk& walk) const override {
    return std::make_unique<DirectCursor<BalancedDraw>>(*blocks_, num_samples_, walk,
                                                        BalancedDraw(classes_, RandomKey::of({seed_, walk.epoch})));
  }

 private:
  ClassRows classes_;
  std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<Sampler> make_weighted(std::shared_ptr<const BlockTable> blocks, const std::vector<double>& weights,
                                       bool replacement, std::uint64_t num_samples, std::uint64_t seed) {
  std::string identity = weighted_identity(weights, replacement, num_samples);
  if (replacement)
    return std::make_unique<WeightedWithReplacement>(std::move(blocks), weights, num_samples, seed,
                                                     std::move(identity));
  return std::make_unique<WeightedWithoutReplacement>(std::move(blocks), weights, num_samples, seed,
                                                      std::move(identity));
}

std::unique_ptr<Sampler> make_balanced(std::shared_ptr<const BlockTable> blocks, std::span<const std::uint32_t> classes,
                                       std::uint32_t num_classes, std::uint64_t num_samples, std::uint64_t seed) {
  return std::make_unique<Balanced>(std::move(blocks), classes, num_classes, num_samples, seed);
}

}  // namespace headrace
