#include "order/quality.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace headrace {
namespace {

double entropy_of(double share) {
  return share > 0 ? -share * std::log2(share) : 0;
}

/// From sums of squares between and within groups: rho = (MSB - MSW) / (MSB + (n0 - 1) MSW).
double correlation(double between, double within, double groups, double rows, double squared_sizes) {
  if (groups < 2 || rows <= groups) return 0;
  const double mean_between = between / (groups - 1), mean_within = within / (rows - groups);
  const double n0 = (rows - squared_sizes / rows) / (groups - 1);
  const double all = mean_between + (n0 - 1) * mean_within;
  return all > 0 ? std::clamp((mean_between - mean_within) / all, 0.0, 1.0) : 0;
}

}  // namespace

GroupSpread::GroupSpread(const std::vector<std::uint64_t>& sizes) {
  double total = 0;
  for (const std::uint64_t size : sizes) total += static_cast<double>(size);
  for (const std::uint64_t size : sizes) shares_.push_back(total > 0 ? static_cast<double>(size) / total : 0);
  for (const double w : shares_) sum_of_squares_ += w * w;
}

void GroupSpread::add(std::span<const std::uint32_t> groups) {
  if (groups.empty()) return;
  counts_.clear();
  for (const std::uint32_t g : groups) ++counts_[g];
  const auto n = static_cast<double>(groups.size());
  double squares = sum_of_squares_, entropy = 0, product = 0, own = 0;
  std::vector<std::pair<std::uint32_t, double>> deviations;
  for (const auto& [g, count] : counts_) {
    const double s = count / n;
    squares += s * s - 2 * s * shares_[g];
    entropy += entropy_of(s);
  }
  if (shares_.size() <= 4096) {  // every group matters for the correlation, those that are absent too
    for (std::uint32_t g = 0; g < shares_.size(); ++g) {
      const auto it = counts_.find(g);
      const double d = (it == counts_.end() ? 0 : it->second / n) - shares_[g];
      deviations.emplace_back(g, d);
      own += d * d;
      if (!last_.empty()) product += d * last_[g].second;
    }
    if (!last_.empty()) lag_product_ += product;
    lag_squares_ += own;
    last_ = std::move(deviations);
  }
  ++batches_;
  samples_ += groups.size();
  spread_ += squares * n;
  groups_ += static_cast<double>(counts_.size());
  entropy_ += entropy;
}

double GroupSpread::design_effect() const {
  const double chance = 1 - sum_of_squares_;
  return batches_ == 0 || chance < 1e-12 ? 1 : spread_ / static_cast<double>(batches_) / chance;
}
double GroupSpread::groups_a_batch() const {
  return batches_ ? groups_ / static_cast<double>(batches_) : 0;
}
double GroupSpread::groups_by_chance() const {
  if (batches_ == 0) return 0;
  const double n = static_cast<double>(samples_) / static_cast<double>(batches_);
  double expected = 0;
  for (const double w : shares_) expected += 1 - std::pow(1 - w, n);
  return expected;
}
double GroupSpread::entropy_bits() const {
  return batches_ ? entropy_ / static_cast<double>(batches_) : 0;
}
double GroupSpread::whole_entropy_bits() const {
  double sum = 0;
  for (const double w : shares_) sum += entropy_of(w);
  return sum;
}
double GroupSpread::lag_correlation() const {
  if (batches_ < 2 || lag_squares_ <= 0) return 0;
  const auto n = static_cast<double>(batches_);
  return lag_product_ / (n - 1) / (lag_squares_ / n);
}

OrderQuality measure_order(const Sampler& sampler, const BlockTable& blocks, std::uint64_t global_batch,
                           RankShare share, std::uint64_t epoch, std::uint64_t most_batches) {
  std::vector<std::uint64_t> block_sizes(blocks.num_blocks()), file_sizes(blocks.num_files());
  for (std::uint64_t b = 0; b < block_sizes.size(); ++b) {
    const BlockTable::FileRows place = blocks.place(b);
    block_sizes[b] = blocks.block_rows(b);
    file_sizes[place.file] += block_sizes[b];
  }
  GroupSpread by_block(block_sizes), by_file(file_sizes);
  OrderQuality out;
  out.batch_rows = (global_batch + share.world_size - 1) / share.world_size;
  const std::uint64_t total = sampler.num_samples(), steps = total / global_batch;  // whole ones
  const std::uint64_t looks = std::min(steps, most_batches);
  const std::uint64_t runs = looks == steps ? 1 : std::min<std::uint64_t>(looks, 32), length = runs ? looks / runs : 0;
  std::uint64_t neighbours = 0, pairs = 0;
  std::vector<SampleRef> samples;
  std::vector<BlockRows> counted_elsewhere;
  std::vector<std::uint32_t> block_numbers, file_numbers;
  for (std::uint64_t run = 0; run < runs; ++run) {
    const std::uint64_t first = runs == 1 ? 0 : run * (steps - length) / (runs - 1);
    const auto cursor = sampler.cursor({epoch, first * global_batch, global_batch, share});
    for (std::uint64_t i = 0; i < length; ++i) {
      samples.clear(), counted_elsewhere.clear(), block_numbers.clear(), file_numbers.clear();
      cursor->next_step(samples, counted_elsewhere);
      for (std::size_t k = 0; k < samples.size(); ++k) {
        block_numbers.push_back(samples[k].block);
        file_numbers.push_back(blocks.place(samples[k].block).file);
        if (k > 0) {
          ++pairs;
          neighbours += samples[k].block == samples[k - 1].block;
        }
      }
      by_block.add(block_numbers);
      by_file.add(file_numbers);
    }
  }
  out.batches = by_block.batches();
  out.block_effect = by_block.design_effect();
  out.file_effect = by_file.design_effect();
  out.blocks_a_batch = by_block.groups_a_batch();
  out.blocks_by_chance = by_block.groups_by_chance();
  out.files_a_batch = by_file.groups_a_batch();
  out.files_by_chance = by_file.groups_by_chance();
  out.same_block_neighbours = pairs ? static_cast<double>(neighbours) / static_cast<double>(pairs) : 0;
  out.lag_correlation = by_file.lag_correlation();
  return out;
}

double intra_group_correlation(std::span<const double> values, std::span<const std::uint64_t> group_rows) {
  double mean = 0;  // deviations from it add up without cancelling
  for (const double v : values) mean += v / static_cast<double>(values.size());
  double total = 0, squares = 0, explained = 0, squared_sizes = 0, groups = 0;
  const double* value = values.data();
  for (const std::uint64_t rows : group_rows) {
    if (rows == 0) continue;
    double sum = 0;
    for (std::uint64_t i = 0; i < rows; ++i, ++value) {
      sum += *value - mean;
      squares += (*value - mean) * (*value - mean);
    }
    const auto size = static_cast<double>(rows);
    total += sum;
    explained += sum * sum / size;
    squared_sizes += size * size;
    ++groups;
  }
  const auto rows = static_cast<double>(values.size());
  const double between = explained - (rows > 0 ? total * total / rows : 0);
  return correlation(between, squares - explained, groups, rows, squared_sizes);
}

double intra_group_correlation_of_classes(std::span<const std::uint32_t> classes, std::uint32_t num_classes,
                                          std::span<const std::uint64_t> group_rows) {
  std::vector<double> totals(num_classes, 0);
  std::vector<std::uint64_t> here(num_classes, 0);  // rows of each class in the group at hand
  std::vector<std::uint32_t> found;
  double explained = 0, squared_sizes = 0, groups = 0;
  const std::uint32_t* next = classes.data();
  for (const std::uint64_t rows : group_rows) {
    if (rows == 0) continue;
    found.clear();
    for (std::uint64_t i = 0; i < rows; ++i, ++next)
      if (here[*next]++ == 0) found.push_back(*next);
    const auto size = static_cast<double>(rows);
    for (const std::uint32_t c : found) {
      const auto count = static_cast<double>(here[c]);
      explained += count * count / size;
      totals[c] += count;
      here[c] = 0;
    }
    squared_sizes += size * size;
    ++groups;
  }
  const auto rows = static_cast<double>(classes.size());
  double between = explained;
  for (const double t : totals) between -= t * t / std::max(rows, 1.0);
  return correlation(between, rows - explained, groups, rows, squared_sizes);
}

std::string effect_text(double effect) {
  return effect < 10 ? fmt::format("{:.2f}", effect) : fmt::format("{:.0f}", effect);
}

}  // namespace headrace
