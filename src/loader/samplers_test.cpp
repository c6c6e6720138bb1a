// Samplers of one's own, through the whole loader.
#include <gtest/gtest.h>
#include <headrace/loader.h>

#include <cmath>
#include <limits>
#include <map>

#include "dataset/testing/fake_source.h"
#include "loader/plan/plan_for.h"
#include "order/row_pool.h"

namespace headrace {
namespace {

using testing::fake_dataset;

std::vector<std::uint64_t> rows_of_an_epoch(Loader& loader) {
  std::vector<std::uint64_t> rows;
  for (const Batch& batch : loader) {
    const auto values = batch.array(0).as<std::uint32_t>();
    const std::uint64_t width = batch.fields()[0].dims.extents()[0];
    for (std::uint64_t i = 0; i < batch.rows(); ++i) rows.push_back(values[i * width] / 1009);
  }
  return rows;
}

LoaderOptions with(Order choice, std::uint64_t batch = 16, std::uint64_t memory = 0) {
  LoaderOptions options;
  options.batch = Samples{batch};
  options.memory = memory;
  options.order = std::move(choice);
  return options;
}

TEST(Samplers, AListIsDeliveredAsItIsAtAnyBudget) {
  const Dataset data = fake_dataset({130, 70}, {{200, 16}});
  std::vector<std::uint64_t> rows;
  for (std::uint64_t i = 0; i < 333; ++i) rows.push_back(i * 77 % 200);
  for (const std::uint64_t memory : {0ull, 300'000ull}) {
    Loader loader(data, with(Listed{rows}, 10, memory));
    EXPECT_EQ(loader.num_batches(), 34u);
    EXPECT_EQ(rows_of_an_epoch(loader), rows);
    EXPECT_EQ(rows_of_an_epoch(loader), rows);
    loader.set_rows({5, 4, 5});
    EXPECT_EQ(rows_of_an_epoch(loader), (std::vector<std::uint64_t>{5, 4, 5}));
    EXPECT_THROW(loader.set_rows({200}), Error);
    EXPECT_EQ(rows_of_an_epoch(loader).size(), 3u);
  }
}

TEST(Samplers, RowsOfAnotherEpochTakeThePlaceOfWhatWasReadAhead) {
  const Dataset data = fake_dataset({130, 70}, {{200, 16}});
  std::vector<std::uint64_t> rows(200), back(200);
  for (std::uint64_t i = 0; i < 200; ++i) rows[i] = i * 77 % 200, back[i] = 199 - rows[i];
  for (const bool every_epoch : {true, false}) {
    Loader loader(data, with(Listed{rows, every_epoch}, 10));
    EXPECT_EQ(rows_of_an_epoch(loader), rows);
    loader.set_rows(1, back);
    EXPECT_EQ(rows_of_an_epoch(loader), back);
    loader.set_rows(2, back);  // the same again
    EXPECT_EQ(rows_of_an_epoch(loader), back);
    loader.set_rows(rows);
    EXPECT_EQ(rows_of_an_epoch(loader), rows);
    loader.set_epoch(3);  // named again, with other rows
    loader.set_rows(3, back);
    EXPECT_EQ(rows_of_an_epoch(loader), back);
    EXPECT_EQ(loader.report().epochs_finished, 5u);
  }
}

TEST(Samplers, AListOfRowsAnEpochDecodesEachChunkOnceAnEpochAndFiguresAddUp) {
  constexpr std::uint64_t kChunks = 32, kRows = 16;
  const Dataset data = fake_dataset({kChunks * kRows}, {{200, kRows}});
  const auto rows_of = [&](std::uint64_t epoch) {
    std::vector<std::uint64_t> rows(data.size());
    for (std::uint64_t i = 0; i < rows.size(); ++i) rows[i] = (i + epoch * kRows) % rows.size();
    return rows;
  };
  LoaderOptions options = with(Listed{rows_of(0), false}, 64);
  options.cache.mode = CacheChoice::kNone;
  Loader loader(data, options);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    if (epoch > 0) loader.set_rows(epoch, rows_of(epoch));
    EXPECT_EQ(rows_of_an_epoch(loader), rows_of(epoch));
    EXPECT_EQ(loader.report().chunks_decoded, (epoch + 1) * kChunks);
    EXPECT_DOUBLE_EQ(loader.report().read_amplification, 1.0);
  }
  // Another engine: as many chunks were decoded before as there were.
  std::vector<std::uint64_t> half = rows_of(0);
  half.resize(half.size() / 2);
  loader.set_rows(half);
  EXPECT_EQ(rows_of_an_epoch(loader), half);
  const Report report = loader.report();
  EXPECT_EQ(report.chunks_decoded, 3 * kChunks + kChunks / 2);
  EXPECT_EQ(report.samples, 3 * data.size() + half.size());
  EXPECT_NE(loader.explain().find("another number of rows"), std::string::npos) << loader.explain();
}

TEST(Samplers, AStateOfAListKnowsTheRowsOfItsEpoch) {
  const Dataset data = fake_dataset({100}, {{4, 10}});
  std::vector<std::uint64_t> zero(100), one(100);
  for (std::uint64_t i = 0; i < 100; ++i) zero[i] = i * 7 % 100, one[i] = i * 11 % 100;
  Loader first(data, with(Listed{zero, false}, 10));
  (void)rows_of_an_epoch(first);
  const std::string between = first.state();
  first.set_rows(1, one);
  Loader::Epoch epoch = first.epoch();
  for (int i = 0; i < 3; ++i) (void)epoch.next();
  const std::string within = first.state();

  Loader second(data, with(Listed{zero, false}, 10));
  second.set_rows(1, one);
  second.load_state(between);
  EXPECT_EQ(rows_of_an_epoch(second), one);
  second.load_state(within);
  EXPECT_EQ(rows_of_an_epoch(second), (std::vector<std::uint64_t>(one.begin() + 30, one.end())));
  Loader third(data, with(Listed{zero, false}, 10));
  third.set_rows(1, zero);
  EXPECT_THROW(third.load_state(within), Error);
}

TEST(Samplers, WeightsAndReplacement) {
  const Dataset data = fake_dataset({100}, {{4, 10}});
  std::vector<double> weights(100, 0);
  weights[3] = 1, weights[97] = 3;
  Loader loader(data, with(Weighted{weights, true, 4000}));
  std::map<std::uint64_t, int> counts;
  for (const std::uint64_t row : rows_of_an_epoch(loader)) ++counts[row];
  EXPECT_EQ(counts.size(), 2u);
  EXPECT_NEAR(counts[97], 3000, 200);
  Loader once(data, with(Weighted{weights, false, 0}));
  EXPECT_EQ(rows_of_an_epoch(once).size(), 2u);
}

TEST(Samplers, ResumeGoesOnInADrawnEpoch) {
  const Dataset data = fake_dataset({100}, {{4, 10}});
  const LoaderOptions options = with(Weighted{std::vector<double>(100, 1), true, 500});
  Loader whole(data, options);
  const auto want = rows_of_an_epoch(whole);
  Loader first(data, options);
  Loader::Epoch epoch = first.epoch();
  for (int i = 0; i < 7; ++i) (void)epoch.next();
  Loader second(data, options);
  second.load_state(first.state());
  EXPECT_EQ(rows_of_an_epoch(second), std::vector<std::uint64_t>(want.begin() + 7 * 16, want.end()));
  EXPECT_THROW(Loader(data, with(Weighted{std::vector<double>(100, 2), true, 400})).load_state(first.state()), Error);
}

TEST(Samplers, WhatIsNoSamplerIsRefused) {
  const Dataset data = fake_dataset({100}, {{4, 10}});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> one_bad(100, 1);
  for (const double bad : {-1.0, nan, HUGE_VAL}) {
    one_bad[7] = bad;
    EXPECT_THROW(Loader(data, with(Weighted{one_bad})), Error);
  }
  EXPECT_THROW(Loader(data, with(Weighted{std::vector<double>(99, 1)})), Error);
  EXPECT_THROW(Loader(data, with(Weighted{std::vector<double>(100, 0)})), Error);
  EXPECT_THROW(Loader(data, with(Weighted{std::vector<double>(100, 1), false, 101})), Error);
  EXPECT_THROW(Loader(data, with(Listed{{0, 100}})), Error);
  EXPECT_THROW(Loader(data, with(Listed{})), Error);
  EXPECT_THROW(Loader(data, with(Balanced{"nothing"})), Error);
}

TEST(Samplers, WhatAnOrderHoldsIsPartOfTheBudget) {
  constexpr std::uint64_t kRows = 200'000, kExactTo = 16 << 10;  // of smallest_budget()
  const Dataset data = testing::fake_dataset({kRows}, {{1, 1024}});
  LoaderOptions options{.batch = Samples{8}, .threads = 1};
  options.cache.mode = CacheChoice::kNone;
  const std::uint64_t in_order = smallest_budget(data, options);
  options.order = BlockShuffle{{1, 500, 0}};
  const std::uint64_t shuffled = smallest_budget(data, options);
  options.order = BlockShuffle{{}};
  EXPECT_GE(shuffled, in_order + 2 * RowPool::kListedRows - kExactTo);  // one pool of all rows, too large to be listed
  options.order = InOrder{};
  options.order = Weighted{std::vector<double>(kRows, 1.0), true, 100};
  EXPECT_GE(smallest_budget(data, options), in_order + 16 * kRows - kExactTo);
}

}  // namespace
}  // namespace headrace
