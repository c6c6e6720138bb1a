#include "loader/engine/small_budget.h"

#include <gtest/gtest.h>
#include <headrace/bytes.h>
#include <rapidcheck.h>

#include <vector>

#include "dataset/testing/fake_source.h"
#include "loader/engine/access.h"
#include "loader/plan/plan_for.h"

namespace headrace {
namespace {

using testing::fake_dataset;
using testing::FakeFaults;

/// A data set, options and a budget that can work, small more often than not.
struct SmallBudgetCase {
  std::shared_ptr<FakeFaults> faults = std::make_shared<FakeFaults>();
  Dataset data;
  LoaderOptions options;

  static SmallBudgetCase any() {
    std::vector<std::uint64_t> files;
    for (int n = *rc::gen::inRange(1, 4); n > 0; --n) files.push_back(*rc::gen::inRange<std::uint64_t>(100, 2000));
    const std::uint64_t chunk = *rc::gen::element<std::uint64_t>(8, 24, 64, 200);
    const std::uint64_t width = *rc::gen::element<std::uint64_t>(300, 1000, 3000);
    auto faults = std::make_shared<FakeFaults>();
    SmallBudgetCase c{faults, fake_dataset(files, {{width, chunk}, {3, chunk}}, faults), {}};
    c.options.batch = Samples{*rc::gen::inRange<std::uint64_t>(4, 100)};
    c.options.order = *rc::gen::element<Order>(BlockShuffle{}, BlockShuffle{}, ExactShuffle{});
    if (c.options.order.is<BlockShuffle>() && *rc::gen::arbitrary<bool>())
      c.options.order =
          BlockShuffle{{*rc::gen::element<std::uint32_t>(2, 5, 16), *rc::gen::inRange<std::uint32_t>(1, 9), 0}};
    c.options.threads = *rc::gen::inRange<std::uint32_t>(1, 3);
    c.options.cache.mode = *rc::gen::element(CacheChoice::kAuto, CacheChoice::kNone);
    c.options.memory = smallest_budget(c.data, c.options) * *rc::gen::inRange<std::uint64_t>(101, 600) / 100;
    return c;
  }
  [[nodiscard]] EnginePlan plan(const LoaderOptions& own) const { return plan_for(data, own, own.memory).value(); }
  [[nodiscard]] LoaderOptions with_buffer(std::uint64_t bytes) const {
    LoaderOptions own = options;
    own.order = BlockShuffle{{0, 0, bytes}};
    return own;
  }
};

TEST(SmallBudget, WhatIsNamedDecodesBlocksOnceAndTheNextLargerDoesNot) {
  int fitting = 0, without = 0, runs = 0;
  EXPECT_TRUE(rc::check([&] {
    const SmallBudgetCase c = SmallBudgetCase::any();
    ++runs;
    const EnginePlan plan = c.plan(c.options);
    const std::optional<SmallBudget> small = judge_small_budget(source_of(c.data), c.options, plan);
    RC_ASSERT(small.has_value() == (plan.expected_decodes() > 1));
    if (!small) return;
    RC_ASSERT(small->is_shuffle);
    LoaderOptions more = c.options;
    more.memory = small->memory_bytes;
    RC_ASSERT(c.plan(more).expected_decodes() <= 1);
    more.memory = small->memory_bytes * 98 / 100;
    if (more.memory > c.options.memory) RC_ASSERT(c.plan(more).expected_decodes() > 1);
    if (!small->fitting) {
      ++without;
      RC_ASSERT(c.plan(c.with_buffer(1)).expected_decodes() > 1);
      LoaderOptions least = c.with_buffer(1);
      least.memory = small->least_memory_bytes;
      RC_ASSERT(c.plan(least).expected_decodes() <= 1);
      return;
    }
    ++fitting;
    const std::uint64_t bytes = small->fitting->shape.bytes;
    const std::string& setting = small->fitting->setting;
    const std::size_t quote = setting.find('"');
    RC_ASSERT(parse_bytes(quote == std::string::npos ? setting.substr(setting.rfind('=') + 1)
                                                     : setting.substr(quote + 1, setting.size() - quote - 2)) == bytes);
    const EnginePlan named = c.plan(c.with_buffer(bytes));
    RC_ASSERT(named.expected_decodes() <= 1);
    const std::uint64_t block = plan.blocks->max_block_rows() * c.data.sample_bytes();
    for (std::uint64_t next = bytes + 1;; next += block / 8 + 1) {
      const EnginePlan larger = c.plan(c.with_buffer(next));
      if (larger.sampler->identity() == named.sampler->identity()) {
        if (next > c.data.size() * c.data.sample_bytes() + block) break;  // it is the order of every larger one
        continue;
      }
      RC_ASSERT(larger.expected_decodes() > 1);
      break;
    }
    // A run says whether it is so: both arrays' chunks are decoded once, and some of the next epoch's.
    LoaderOptions own = c.with_buffer(bytes);
    own.cache.mode = CacheChoice::kNone;
    std::uint64_t samples = 0;
    Loader once(c.data, own);
    for (const Batch& batch : once) samples += batch.rows();
    once.close();
    RC_ASSERT(samples == c.data.size());
    RC_ASSERT(once.report().read_amplification == 1.0);
    RC_ASSERT(c.faults->decodes >= 2 * plan.blocks->num_blocks());
    RC_ASSERT(!once.report().decode_once);
  }));
  EXPECT_GT(fitting, runs < 100 ? 0 : 5);
  EXPECT_GT(without, 0);
}

TEST(SmallBudget, ReportAndExplainNameIt) {
  const Dataset data = fake_dataset({4096, 4096}, {{1000, 32}});  // 31 MiB, in blocks of 125 KiB
  LoaderOptions options{.batch = Samples{64}, .order = BlockShuffle{}, .memory = mebibytes(5), .threads = 1};
  options.cache.mode = CacheChoice::kNone;
  Loader loader(data, options);
  for (const Batch& batch : loader) (void)batch;
  const Report report = loader.report();
  ASSERT_TRUE(report.decode_once);
  const Report::DecodeOnce& once = *report.decode_once;
  ASSERT_GT(once.shuffle_buffer_bytes, 0u);
  EXPECT_GT(once.deff, once.deff_now);
  EXPECT_GT(once.speedup, 1);
  EXPECT_LE(once.speedup, report.read_amplification);
  ASSERT_GE(report.advice.size(), 2u);
  const SmallBudget small = small_budget_of(loader).value();
  EXPECT_TRUE(report.advice[0].starts_with(small.fitting->setting + ": every block would be decoded once"))
      << report.advice[0];
  EXPECT_TRUE(report.advice[1].starts_with("memory=\"")) << report.advice[1];
  EXPECT_NE(loader.explain().find(small.fitting->setting + ", in this budget"), std::string::npos) << loader.explain();
  EXPECT_NE(report.json().find("\"decode_once\""), std::string::npos);

  options.order = BlockShuffle{{0, 0, once.shuffle_buffer_bytes}};
  Loader again(data, options);
  for (const Batch& batch : again) (void)batch;
  EXPECT_FALSE(again.report().decode_once);
  EXPECT_NE(again.explain().find("every block once an epoch"), std::string::npos);
}

TEST(SmallBudget, TheMemoryThatItNamesDoesNotDependOnTheBudgetThatThereIs) {
  const Dataset data = fake_dataset({3000, 3000}, {{1000, 16}, {3, 16}});
  LoaderOptions options;
  options.batch = Samples{64};
  options.order = BlockShuffle{{2, 8}};
  std::vector<double> named;
  for (const std::uint64_t budget : {std::uint64_t{16} << 20, std::uint64_t{64} << 20, std::uint64_t{16} << 30}) {
    options.memory = budget;
    const EnginePlan plan = plan_for(data, options, budget).value();
    named.push_back(static_cast<double>(memory_to_decode_once(source_of(data), options, plan)));
  }
  EXPECT_LT(named[0], 16 << 20);
  EXPECT_NEAR(named[1], named[0], named[0] / 64);
  EXPECT_NEAR(named[2], named[0], named[0] / 64);
}

TEST(SmallBudget, WhereNoShuffleFitsItSaysWhatElseToDo) {
  const Dataset data = fake_dataset({8192}, {{1000, 1024}});  // blocks of 4 MiB
  LoaderOptions options{.batch = Samples{64}, .order = BlockShuffle{}, .memory = mebibytes(11), .threads = 1};
  options.cache.mode = CacheChoice::kNone;
  Loader loader(data, options);
  for (const Batch& batch : loader) (void)batch;
  const SmallBudget small = small_budget_of(loader).value();
  ASSERT_FALSE(small.fitting);
  EXPECT_GT(small.least_memory_bytes, options.memory);
  EXPECT_LT(small.least_memory_bytes, small.memory_bytes);
  const std::string explained = loader.explain();
  EXPECT_NE(explained.find("no shuffle_buffer= decodes each block once in this budget"), std::string::npos)
      << explained;
  EXPECT_EQ(explained.find("shuffle_buffer=\""), std::string::npos) << explained;
  EXPECT_NE(explained.find("smaller batch_size"), std::string::npos) << explained;
}

TEST(SmallBudget, AnOrderThatIsNoShuffleIsOfferedMemoryOnly) {
  const Dataset data = fake_dataset({4096, 4096}, {{1000, 32}});
  std::vector<std::uint64_t> rows(8192);
  for (std::uint64_t i = 0; i < rows.size(); ++i) rows[i] = i * 37 % rows.size();
  LoaderOptions options{.batch = Samples{64}, .memory = mebibytes(5), .threads = 1};
  options.order = Listed{rows};
  options.cache.mode = CacheChoice::kNone;
  const Loader loader(data, options);
  const SmallBudget small = small_budget_of(loader).value();
  EXPECT_FALSE(small.is_shuffle);
  EXPECT_FALSE(small.fitting);
  EXPECT_GT(small.memory_bytes, options.memory);
  EXPECT_EQ(loader.explain().find("shuffle_buffer"), std::string::npos) << loader.explain();
}

}  // namespace
}  // namespace headrace
