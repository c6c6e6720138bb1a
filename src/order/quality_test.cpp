#include "order/quality.h"

#include <gtest/gtest.h>

#include <random>

namespace headrace {
namespace {

std::shared_ptr<const BlockTable> jets() {
  return std::make_shared<BlockTable>(std::vector<BlockTable::FileBlocks>(4, {16384, 128}));
}

TEST(GroupSpread, OneForDrawsByChanceAndTheBatchForSingleGroups) {
  std::mt19937 random(1);
  GroupSpread chance(std::vector<std::uint64_t>(50, 1000)), alone(std::vector<std::uint64_t>(50, 1000)),
      even(std::vector<std::uint64_t>(50, 1000));
  std::vector<std::uint32_t> batch(200);
  for (std::uint32_t i = 0; i < 4000; ++i) {
    for (auto& g : batch) g = static_cast<std::uint32_t>(random() % 50);
    chance.add(batch);
    std::fill(batch.begin(), batch.end(), i % 50);
    alone.add(batch);
    for (std::uint32_t k = 0; k < batch.size(); ++k) batch[k] = k % 50;
    even.add(batch);
  }
  EXPECT_NEAR(chance.design_effect(), 1.0, 0.02);
  EXPECT_NEAR(chance.lag_correlation(), 0.0, 0.02);
  EXPECT_NEAR(chance.groups_a_batch(), chance.groups_by_chance(), 0.1);
  EXPECT_DOUBLE_EQ(alone.design_effect(), 200.0);
  EXPECT_DOUBLE_EQ(alone.entropy_bits(), 0.0);
  EXPECT_NEAR(even.design_effect(), 0.0, 1e-12);
  EXPECT_NEAR(even.entropy_bits(), even.whole_entropy_bits(), 1e-12);
}

TEST(OrderQuality, OfKnownOrders) {
  const auto blocks = jets();
  const OrderQuality files = measure_order(*make_sequential(blocks), *blocks, 512, {}, 0);
  EXPECT_NEAR(files.block_effect, 128.0, 2.0);  // four whole blocks a batch
  EXPECT_NEAR(files.file_effect, 512.0, 1.0);
  const OrderQuality exact = measure_order(*make_global_shuffle(blocks, 3), *blocks, 512, {}, 0);
  EXPECT_NEAR(exact.block_effect, 1.0, 0.05);
  EXPECT_NEAR(exact.file_effect, 1.0, 0.3);
  const OrderQuality mixed =
      measure_order(*make_block_shuffle(blocks, BlockShuffleShape{32, 4}, 3), *blocks, 512, {}, 0);
  EXPECT_GT(mixed.block_effect, 2.0);
  EXPECT_LT(mixed.block_effect, 6.0);
  EXPECT_LT(mixed.file_effect, 0.7);  // streams are strata of the files
  // The closed form 1 + (B - 1)/n (1 - n/N), low by up to a half.
  EXPECT_GT(mixed.block_effect, 1 + 511.0 / 128 * (1 - 128.0 / 512));
}

TEST(OrderQuality, OfASampleOfTheEpochIsCloseToThatOfTheWhole) {
  const auto blocks = std::make_shared<BlockTable>(std::vector<BlockTable::FileBlocks>(20, {25600, 128}));
  const auto sampler = make_block_shuffle(blocks, BlockShuffleShape{64, 4}, 3);
  const OrderQuality whole = measure_order(*sampler, *blocks, 512, {}, 0, 1 << 20);
  const OrderQuality part = measure_order(*sampler, *blocks, 512, {}, 0, 320);
  EXPECT_EQ(whole.batches, 1000u);
  EXPECT_EQ(part.batches, 320u);
  EXPECT_NEAR(part.block_effect, whole.block_effect, 0.25 * whole.block_effect);
}

TEST(IntraGroupCorrelation, FromNoneToOne) {
  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  std::vector<double> noise, constant, half;
  const std::vector<std::uint64_t> groups(400, 50);
  std::vector<std::uint32_t> classes;
  for (std::uint32_t g = 0; g < 400; ++g) {
    const double level = normal(random);
    for (int i = 0; i < 50; ++i) {
      classes.push_back(g % 10);
      constant.push_back(level);
      noise.push_back(normal(random));
      half.push_back(level + normal(random));
    }
  }
  EXPECT_NEAR(intra_group_correlation(noise, groups), 0.0, 0.01);
  EXPECT_NEAR(intra_group_correlation(constant, groups), 1.0, 1e-9);
  EXPECT_NEAR(intra_group_correlation(half, groups), 0.5, 0.06);
  EXPECT_NEAR(intra_group_correlation_of_classes(classes, 10, groups), 1.0, 1e-9);
  std::vector<double> far = half;
  for (double& v : far) v += 1e9;
  EXPECT_NEAR(intra_group_correlation(far, groups), intra_group_correlation(half, groups), 1e-4);
  const std::vector<std::uint64_t> whole{20000}, ones(20000, 1);
  EXPECT_EQ(intra_group_correlation(half, whole), 0.0);
  EXPECT_EQ(intra_group_correlation(half, ones), 0.0);
  std::shuffle(classes.begin(), classes.end(), random);
  EXPECT_NEAR(intra_group_correlation_of_classes(classes, 10, groups), 0.0, 0.01);
}

}  // namespace
}  // namespace headrace
