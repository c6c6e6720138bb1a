#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "order/listed_rows.h"
#include "order/sampler.h"

namespace headrace {
namespace {

std::shared_ptr<const BlockTable> table(std::uint64_t rows) {
  return std::make_shared<BlockTable>(std::vector<BlockTable::FileBlocks>{{rows, 10}});
}
std::vector<std::uint64_t> epoch_rows(const Sampler& sampler, const BlockTable& blocks, const Walk& walk) {
  std::vector<SampleRef> out;
  std::vector<BlockRows> counted_elsewhere;
  const auto cursor = sampler.cursor(walk);
  for (std::uint64_t n = walk.position; n < sampler.num_samples(); n += walk.global_batch)
    cursor->next_step(out, counted_elsewhere);
  std::vector<std::uint64_t> rows;
  for (const SampleRef s : out) rows.push_back(blocks.first_row(s.block) + s.row);
  return rows;
}

std::unique_ptr<Sampler> listed_sampler(const std::shared_ptr<const BlockTable>& blocks,
                                        std::vector<std::uint64_t> rows) {
  const auto list = std::make_shared<const std::vector<std::uint64_t>>(std::move(rows));
  return make_listed(blocks, std::make_shared<ListedRows>(list, true));
}

/// Every drawn order: ranks join to the whole, and a walk from the middle is the rest of the whole.
TEST(DrawnOrders, CanBeCutAnywhere) {
  EXPECT_TRUE(rc::check([] {
    const auto n = *rc::gen::inRange<std::uint64_t>(1, 200);
    const auto blocks = table(n);
    std::vector<double> weights(n);
    std::vector<std::uint32_t> classes(n);
    std::vector<std::uint64_t> listed(*rc::gen::inRange<std::size_t>(0, 300));
    for (auto& w : weights) w = *rc::gen::inRange(0, 5);
    weights[0] = 1;
    for (auto& c : classes) c = *rc::gen::inRange<std::uint32_t>(0, 4);
    for (auto& r : listed) r = *rc::gen::inRange<std::uint64_t>(0, n);
    const auto positive =
        static_cast<std::uint64_t>(std::count_if(weights.begin(), weights.end(), [](double w) { return w > 0; }));
    const auto batch = *rc::gen::inRange<std::uint64_t>(1, 50);
    const auto world = *rc::gen::inRange<std::uint32_t>(1, 5);
    for (const auto& sampler : {std::shared_ptr<const Sampler>(make_weighted(blocks, weights, true, 150, 3)),
                                std::shared_ptr<const Sampler>(make_weighted(blocks, weights, false, positive, 3)),
                                std::shared_ptr<const Sampler>(make_balanced(blocks, classes, 4, 170, 3)),
                                std::shared_ptr<const Sampler>(listed_sampler(blocks, listed))}) {
      const auto whole = epoch_rows(*sampler, *blocks, {.epoch = 2, .global_batch = batch});
      RC_ASSERT(whole.size() == sampler->num_samples());
      const auto steps = sampler->num_samples() / batch;
      const auto at = *rc::gen::inRange<std::uint64_t>(0, steps + 1) * batch;
      const auto rest = epoch_rows(*sampler, *blocks, {.epoch = 2, .position = at, .global_batch = batch});
      RC_ASSERT(std::equal(rest.begin(), rest.end(), whole.begin() + static_cast<std::ptrdiff_t>(at), whole.end()));
      std::multiset<std::uint64_t> joined;
      for (std::uint32_t r = 0; r < world; ++r)
        for (const auto row : epoch_rows(*sampler, *blocks, {.epoch = 2, .global_batch = batch, .share = {r, world}}))
          joined.insert(row);
      RC_ASSERT(joined == std::multiset<std::uint64_t>(whole.begin(), whole.end()));
    }
  }));
}

TEST(Weighted, DrawsAsOftenAsTheWeightsSay) {
  const auto blocks = table(4);
  const std::vector<double> weights = {1, 0, 3, 6};
  std::vector<double> counts(4);
  const std::uint64_t n = 200'000;
  for (const auto row : epoch_rows(*make_weighted(blocks, weights, true, n, 1), *blocks, {.global_batch = 1000}))
    ++counts[row];
  EXPECT_EQ(counts[1], 0);
  for (int i : {0, 2, 3}) {
    const double p = weights[static_cast<std::size_t>(i)] / 10, sigma = std::sqrt(n * p * (1 - p));
    EXPECT_NEAR(counts[static_cast<std::size_t>(i)], n * p, 5 * sigma);
  }
}

TEST(Weighted, TinyAndHugeWeightsKeepTheirRatio) {
  const auto blocks = table(3);
  std::vector<double> counts(3);
  for (const auto row :
       epoch_rows(*make_weighted(blocks, {1e-300, 2e-300, 1e-300}, true, 40'000, 1), *blocks, {.global_batch = 1000}))
    ++counts[row];
  EXPECT_NEAR(counts[1], 20'000, 500);
  counts.assign(3, 0);
  for (const auto row :
       epoch_rows(*make_weighted(blocks, {1e308, 1e308, 0}, true, 40'000, 1), *blocks, {.global_batch = 1000}))
    ++counts[row];
  EXPECT_NEAR(counts[0], 20'000, 500);
}

TEST(Weighted, WithoutReplacementEachRowOnceHeavierOnesEarlier) {
  const auto blocks = table(100);
  std::vector<double> weights(100, 1);
  for (std::size_t i = 0; i < 50; ++i) weights[i] = 20;
  double early = 0;
  for (std::uint64_t epoch = 0; epoch < 200; ++epoch) {
    const auto rows =
        epoch_rows(*make_weighted(blocks, weights, false, 100, 4), *blocks, {.epoch = epoch, .global_batch = 10});
    EXPECT_EQ(std::set<std::uint64_t>(rows.begin(), rows.end()).size(), 100u);
    early += rows[0] < 50;
  }
  EXPECT_NEAR(early / 200, 20.0 / 21, 0.06);
}

TEST(Balanced, EveryRunOfClassesHasOneOfEach) {
  const auto blocks = table(1000);
  std::vector<std::uint32_t> classes(1000, 0);
  for (std::size_t i = 0; i < 90; ++i) classes[i * 11 + 1] = 3;  // class 2 has no rows
  for (std::size_t i = 0; i < 10; ++i) classes[i * 100] = 1;
  const auto sampler = make_balanced(blocks, classes, 4, 3000, 9);
  const auto rows = epoch_rows(*sampler, *blocks, {.global_batch = 30});
  std::map<std::uint64_t, int> rare;
  for (std::size_t run = 0; run < rows.size(); run += 3) {
    std::set<std::uint32_t> seen;
    for (std::size_t i = run; i < run + 3; ++i) {
      seen.insert(classes[rows[i]]);
      if (classes[rows[i]] == 1) ++rare[rows[i]];
    }
    EXPECT_EQ(seen.size(), 3u);
  }
  EXPECT_EQ(rare.size(), 10u);
  for (const auto& [row, times] : rare) EXPECT_EQ(times, 100);  // each as often as any other
}

}  // namespace
}  // namespace headrace
