// Loader::batch(): what iteration gives, out of order and beside it.
#include <gtest/gtest.h>
#include <headrace/loader.h>
#include <headrace/mix.h>
#include <rapidcheck.h>

#include <cstring>

#include "dataset/testing/fake_source.h"

namespace headrace {
namespace {

using testing::fake_dataset;

/// Equal in fields and in every byte.
bool equal(const Batch& a, const Batch& b) {
  if (a.rows() != b.rows() || a.epoch() != b.epoch() || a.index() != b.index()) return false;
  if (a.fields().size() != b.fields().size()) return false;
  for (std::size_t f = 0; f < a.fields().size(); ++f) {
    if (a.fields()[f].name != b.fields()[f].name || a.array(f).size_bytes() != b.array(f).size_bytes()) return false;
    if (std::memcmp(a.array(f).data(), b.array(f).data(), a.array(f).size_bytes()) != 0) return false;
  }
  return true;
}

Dataset some_data() {
  const Dataset rows = fake_dataset({130, 75, 40}, {{20, 16}, {3, 64}});
  const int kind = *rc::gen::inRange(0, 3);
  if (kind == 0) return rows;
  if (kind == 1) {
    std::vector<std::uint64_t> chosen;
    for (std::uint64_t row = 0; row < rows.size(); ++row)
      if (row % 3 != 1) chosen.push_back(row);
    return rows.select(chosen);
  }
  return mix({{"a", rows, 2}, {"b", fake_dataset({90}, {{20, 16}, {3, 64}}), 1}});
}

LoaderOptions some_options(const Dataset& data) {
  LoaderOptions options;
  options.batch = Samples{*rc::gen::inRange<std::uint64_t>(1, 40)};
  options.seed = *rc::gen::inRange<std::uint64_t>(0, 100);
  std::get<Samples>(options.batch).tail = *rc::gen::element(Tail::kPartial, Tail::kDrop, Tail::kPad);
  options.threads = *rc::gen::inRange<std::uint32_t>(1, 4);
  options.provenance = *rc::gen::arbitrary<bool>();
  options.world_size = *rc::gen::inRange<std::uint32_t>(1, 4);
  options.rank = *rc::gen::inRange<std::uint32_t>(0, *options.world_size);
  options.order = *rc::gen::element<Order>(InOrder{}, BlockShuffle{}, ExactShuffle{});
  if (data.size() == 245 && *rc::gen::arbitrary<bool>()) {
    options.order = InOrder{};
    const std::vector<double> weights(data.size(), 1);
    options.order = Weighted{weights, *rc::gen::arbitrary<bool>(), 200};
  }
  return options;
}

TEST(OneBatch, IsTheIteratedOneAndDisturbsNothing) {
  EXPECT_TRUE(rc::check([] {
    const Dataset data = some_data();
    const LoaderOptions options = some_options(data);
    Loader reference(data, options), loader(data, options);
    std::vector<std::vector<Batch>> want(2);
    for (auto& epoch : want)
      for (const Batch& batch : reference) epoch.push_back(batch);
    for (std::uint64_t e = 0; e < want.size(); ++e) {
      Loader::Epoch epoch = loader.epoch();
      for (std::size_t i = 0; i < want[e].size(); ++i) {
        const std::string before = loader.state();
        const std::uint64_t other_epoch = *rc::gen::inRange<std::uint64_t>(0, 2);
        const std::size_t other = *rc::gen::inRange<std::size_t>(0, want[other_epoch].size());
        RC_ASSERT(equal(loader.batch(other_epoch, other), want[other_epoch][other]));
        RC_ASSERT(loader.state() == before);
        const auto batch = epoch.next();
        RC_ASSERT(batch.has_value());
        RC_ASSERT(equal(*batch, want[e][i]));
      }
      RC_ASSERT(!epoch.next().has_value());
    }
    RC_ASSERT(loader.report().batches == reference.report().batches);
    RC_ASSERT(loader.report().epochs_started == 2u);
  }));
}

TEST(OneBatch, NeedsNoEpochAndStartsNothing) {
  const Dataset data = fake_dataset({300}, {{4, 20}});
  Loader loader(data, {.batch = Samples{16}, .order = BlockShuffle{}});
  const Batch far = loader.batch(1'000'000, 7);
  EXPECT_EQ(far.rows(), 16u);
  EXPECT_EQ(far.epoch(), 1'000'000u);
  EXPECT_EQ(far.index(), 7u);
  EXPECT_EQ(loader.report().epochs_started, 0u);
  EXPECT_EQ(loader.next_epoch(), 0u);
  loader.set_epoch(1'000'000);
  Loader::Epoch epoch = loader.epoch();
  for (int i = 0; i < 7; ++i) (void)epoch.next();
  EXPECT_TRUE(equal(*epoch.next(), far));
}

TEST(OneBatch, OfAListKnowsTheEpochsThatWereGiven) {
  const Dataset data = fake_dataset({100}, {{4, 10}});
  const std::vector<std::uint64_t> zero{5, 4, 3, 2, 1}, one{50, 40, 30, 20, 10};
  LoaderOptions options{.batch = Samples{2}};
  options.order = Listed{zero, false};
  Loader loader(data, options);
  const auto first_of = [](const Batch& batch) { return batch.array(0).as<std::uint32_t>()[0] / 1009; };
  EXPECT_EQ(first_of(loader.batch(0, 1)), 3u);
  EXPECT_THROW((void)loader.batch(1, 1), Error);
  EXPECT_EQ(first_of(loader.batch(1, 1, one)), 30u);
  EXPECT_THROW((void)loader.batch(1, 1), Error);  // it was told for that batch only
  loader.set_rows(1, one);
  EXPECT_EQ(first_of(loader.batch(1, 1)), 30u);
  const std::vector<std::uint64_t> beyond{100};
  EXPECT_THROW((void)loader.batch(1, 0, beyond), Error);
}

TEST(OneBatch, WhatIsNotThereIsRefused) {
  const Dataset data = fake_dataset({100}, {{4, 10}});
  Loader loader(data, {.batch = Samples{30}});
  try {
    (void)loader.batch(3, 4);
    ADD_FAILURE() << "there is no such batch";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(std::string(e.what()).find("epoch 3 has 4 batches, numbered 0 to 3; batch 4 was asked for"),
              std::string::npos)
        << e.what();
    EXPECT_NE(e.hint().find("batch_size"), std::string::npos) << e.hint();
  }
  EXPECT_THROW((void)loader.batch(0, ~std::uint64_t{0}), Error);
  const std::vector<std::uint64_t> rows{1};
  EXPECT_THROW((void)loader.batch(0, 0, rows), Error);  // not a list
  LoaderOptions online{.batch = Samples{10}};
  online.order = OnlineSampler{50};
  EXPECT_THROW((void)Loader(data, online).batch(0, 0), Error);
  loader.close();
  EXPECT_THROW((void)loader.batch(0, 0), Error);

  auto faults = std::make_shared<testing::FakeFaults>();
  faults->bad_rows = {55};
  Loader bad(fake_dataset({100}, {{4, 10}}, faults), {.batch = Samples{30}});
  EXPECT_EQ(bad.batch(0, 0).rows(), 30u);
  EXPECT_THROW((void)bad.batch(0, 1), Error);
}

}  // namespace
}  // namespace headrace
