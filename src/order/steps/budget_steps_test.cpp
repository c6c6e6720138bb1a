#include "order/steps/budget_steps.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

#include "base/random/philox.h"
#include "order/testing/random_mixture.h"

namespace headrace {
namespace {

using Rows = std::vector<std::uint64_t>;  // rows of the data set

/// Samples of random lengths, a few of them very long, in random blocks.
struct Data {
  std::shared_ptr<const BlockTable> blocks;
  std::vector<std::uint32_t> lengths;
  std::shared_ptr<const StoredLengths> index;

  static Data random() {
    std::vector<BlockTable::FileBlocks> files;
    for (int n = *rc::gen::inRange(1, 4); n > 0; --n)
      files.push_back({*rc::gen::inRange<std::uint64_t>(0, 500), *rc::gen::inRange<std::uint64_t>(1, 40)});
    Data data{std::make_shared<BlockTable>(files), {}, nullptr};
    KeyedRandom random(RandomKey::of({*rc::gen::inRange<std::uint64_t>(0, 1000)}));
    for (std::uint64_t i = 0; i < data.blocks->num_rows(); ++i)
      data.lengths.push_back(static_cast<std::uint32_t>(random.below(random.below(50) == 0 ? 100'000 : 100)));
    data.index = std::make_shared<StoredLengths>(*data.blocks, data.lengths);
    return data;
  }
  [[nodiscard]] std::uint64_t row(SampleRef s) const { return blocks->first_row(s.block) + s.row; }
};

struct Walked {
  std::vector<Step> steps;
  std::vector<Rows> rows;  // padding included
};

/// Walk from a position to the epoch's end. What rows_in() says of a block is compared with what came.
Walked walk(const Data& data, const StepPlan& plan, std::uint64_t epoch, std::uint64_t position, bool drops = false) {
  Walked out;
  if (plan.ends_at(epoch, position)) return out;
  const auto cursor = plan.cursor(epoch, position);
  std::map<std::uint32_t, std::uint64_t> seen;
  bool all_counted = true;
  for (;;) {
    std::vector<SampleRef> samples;
    std::vector<BlockRows> counted_elsewhere;
    bool counted = false;
    const Step step = cursor->next(samples, counted_elsewhere, counted);
    RC_ASSERT(samples.size() <= plan.most_rows());
    for (const BlockRows s : counted_elsewhere) seen[s.block] += s.rows;
    for (const SampleRef s : samples) seen[s.block] += counted;
    all_counted = all_counted && counted;
    out.steps.push_back(step);
    out.rows.emplace_back();
    for (const SampleRef s : samples) out.rows.back().push_back(data.row(s));
    if (step.last) break;
  }
  if (plan.sampler().traits().permutation && all_counted)
    for (const auto& [block, count] : seen) {
      const std::uint64_t rows = cursor->rows_in(block);
      RC_ASSERT(rows == 0 || rows == count || (drops && count < rows));
    }
  return out;
}

std::vector<std::shared_ptr<const Sampler>> samplers(const Data& data) {
  return {make_block_shuffle(data.blocks, BlockShuffleShape{8, 2}, 7),
          make_block_shuffle(data.blocks, BlockShuffleShape{6, 3}, 7), make_global_shuffle(data.blocks, 7),
          make_sequential(data.blocks), random_mixture(data.blocks)};
}

BudgetOptions random_options() {
  BudgetOptions o;
  o.tokens = *rc::gen::inRange<std::uint64_t>(60, 5000);
  o.lanes = *rc::gen::element(1u, 2u, 3u, 4u, 8u);
  o.arrangement = *rc::gen::element(StepArrangement::kInOrder, StepArrangement::kDeal, StepArrangement::kBucket);
  o.lookahead_steps = *rc::gen::inRange<std::uint64_t>(1, 20);
  if (*rc::gen::inRange(0, 3) == 0) o.most_samples = *rc::gen::inRange<std::uint64_t>(1, 20);
  o.padded = o.arrangement != StepArrangement::kDeal && *rc::gen::arbitrary<bool>();
  o.long_alone = true;
  o.tail = *rc::gen::element(Tail::kPartial, Tail::kDrop, Tail::kPad);
  return o;
}

TEST(BudgetSteps, EverySampleOnceUnderBudgetEqualForAllRanksFromAnywhere) {
  EXPECT_TRUE(rc::check([] {
    const Data data = Data::random();
    if (data.blocks->num_rows() == 0) return;
    const BudgetOptions options = random_options();
    const auto cost = [&](std::uint64_t row) -> std::uint64_t { return data.lengths[row]; };
    const std::uint64_t epoch = *rc::gen::inRange<std::uint64_t>(0, 3);
    const bool drops = options.tail == Tail::kDrop;
    for (const auto& sampler : samplers(data)) {
      const auto plan_of = [&](RankShare share) {
        return BudgetSteps::make(sampler, *data.blocks, data.index, options, share, 5).value();
      };
      const auto plan = plan_of({});
      const Walked whole = walk(data, *plan, epoch, 0, drops);
      const std::uint64_t total = sampler->num_samples(), lanes = options.lanes;
      RC_ASSERT(plan->num_steps(epoch) == whole.steps.size());

      // Steps follow each other; samples come as often as in the order itself.
      Rows all;
      std::uint64_t at = 0;
      for (std::size_t k = 0; k < whole.steps.size(); ++k) {
        const Step& step = whole.steps[k];
        RC_ASSERT(step.index == k && step.begin == at && step.first_position == at);
        RC_ASSERT(step.end - step.begin == step.real_rows && step.real_rows > 0);
        RC_ASSERT(plan->position_of(epoch, k) == at);
        at = step.end;
        all.insert(all.end(), whole.rows[k].begin(),
                   whole.rows[k].begin() + static_cast<std::ptrdiff_t>(step.real_rows));
        if (options.tail == Tail::kPad) RC_ASSERT(whole.rows[k].size() % lanes == 0);
      }
      RC_ASSERT(at == (options.tail == Tail::kDrop ? total - total % lanes : total));
      if (options.tail != Tail::kDrop) {
        std::vector<SampleRef> order;
        std::vector<BlockRows> counted_elsewhere;
        sampler->cursor({.epoch = epoch, .global_batch = total})->next_step(order, counted_elsewhere);
        Rows want;
        for (const SampleRef s : order) want.push_back(data.row(s));
        std::ranges::sort(want);
        std::ranges::sort(all);
        RC_ASSERT(all == want);
      }

      // Each lane stays under the budget, or holds one sample; lanes are equal but for the epoch's last samples.
      std::vector<Walked> by_lane;
      for (std::uint32_t u = 0; u < lanes; ++u)
        by_lane.push_back(walk(data, *plan_of({u, options.lanes}), epoch, 0, drops));
      std::size_t uneven = 0;
      for (std::size_t k = 0; k < whole.steps.size(); ++k) {
        std::size_t most = 0, least = ~std::size_t{0};
        std::uint64_t longest = 0;
        for (const Walked& lane : by_lane) {
          if (lane.steps[k].real_rows == 0 && options.tail != Tail::kPad) {  // it has another's, once more
            least = 0;
            continue;
          }
          RC_ASSERT(lane.steps.size() == whole.steps.size());
          most = std::max(most, lane.rows[k].size());
          least = std::min(least, lane.rows[k].size());
          std::uint64_t sum = 0;
          for (const std::uint64_t row : lane.rows[k]) sum += cost(row), longest = std::max(longest, cost(row));
          RC_ASSERT(sum <= options.tokens || lane.rows[k].size() == 1);
        }
        if (options.padded) RC_ASSERT(most * longest <= options.tokens || most == 1);
        RC_ASSERT(most <= options.most_samples);
        RC_ASSERT(most - least <= 1);
        uneven += most != least;
      }
      RC_ASSERT(uneven <= 1 && (uneven == 0 || options.tail == Tail::kPartial));

      // The same steps for every world size.
      for (const std::uint32_t world : {1u, 2u, 3u, 4u, 5u, 8u}) {
        std::vector<Walked> ranks;
        for (std::uint32_t r = 0; r < world; ++r) ranks.push_back(walk(data, *plan_of({r, world}), epoch, 0, drops));
        for (std::size_t k = 0; k < whole.steps.size(); ++k) {
          Rows got, want = whole.rows[k];
          std::uint64_t real = 0;
          for (const Walked& rank : ranks) {
            if (rank.steps[k].real_rows > 0 && options.tail != Tail::kPad)
              RC_ASSERT(rank.steps[k].first_position == rank.steps[k].begin + got.size());
            const bool borrows = rank.steps[k].real_rows == 0 && options.tail != Tail::kPad;
            if (borrows) {
              RC_ASSERT(rank.rows[k].size() == 1u);
              RC_ASSERT(std::ranges::count(want, rank.rows[k][0]) > 0);
            }
            if (borrows || options.tail == Tail::kPad) RC_ASSERT(plan_of({0, world})->repeats_samples(0));
            if (!borrows) got.insert(got.end(), rank.rows[k].begin(), rank.rows[k].end());
            real += rank.steps[k].real_rows;
          }
          if (options.tail == Tail::kPad) std::ranges::sort(got), std::ranges::sort(want);  // a rank's padding is last
          if (options.tail != Tail::kPad || want.size() >= world) RC_ASSERT(got == want);
          RC_ASSERT(real == whole.steps[k].real_rows);
        }
      }

      // A walk from any step on is the rest of the whole one.
      const auto from = *rc::gen::inRange<std::size_t>(0, whole.steps.size() + 1);
      const std::uint64_t position = from < whole.steps.size() ? whole.steps[from].begin : at;
      const Walked rest = walk(data, *plan, epoch, position, drops);
      RC_ASSERT(plan->steps_after(epoch, position) == whole.steps.size() - from);
      RC_ASSERT(rest.steps.size() == whole.steps.size() - from);
      for (std::size_t k = 0; k < rest.steps.size(); ++k) {
        RC_ASSERT(rest.rows[k] == whole.rows[from + k]);
        RC_ASSERT(rest.steps[k].index == from + k && rest.steps[k].begin == whole.steps[from + k].begin);
      }
    }
  }));
}

TEST(BudgetSteps, DealtStepsAreFullAndHoldAllLengths) {
  const auto blocks = std::make_shared<BlockTable>(std::vector<BlockTable::FileBlocks>{{200'000, 500}});
  KeyedRandom random(RandomKey::of({3}));
  std::vector<std::uint32_t> lengths;
  double sum = 0;
  for (int i = 0; i < 200'000; ++i) {
    lengths.push_back(static_cast<std::uint32_t>(5 + random.below(1 + random.below(600))));
    sum += lengths.back();
  }
  const auto index = std::make_shared<StoredLengths>(*blocks, lengths);
  const std::shared_ptr<const Sampler> sampler = make_block_shuffle(blocks, BlockShuffleShape{16, 4}, 3);
  const auto plan = BudgetSteps::make(sampler, *blocks, index, {.tokens = 8192, .lanes = 4}, {}, 1).value();
  const std::uint64_t steps = plan->num_steps(0);
  EXPECT_LT(static_cast<double>(steps) * 4 * 8192, sum * 1.07);
  EXPECT_GE(plan->num_windows(), 3u);
  const auto cursor = plan->cursor(0, 0);
  double worst = 0;
  for (std::uint64_t k = 0; k < steps; ++k) {
    std::vector<SampleRef> samples;
    std::vector<BlockRows> counted_elsewhere;
    bool counted = false;
    cursor->next(samples, counted_elsewhere, counted);
    double mean = 0;
    for (const SampleRef s : samples) mean += lengths[blocks->first_row(s.block) + s.row];
    worst = std::max(worst, std::abs(mean / static_cast<double>(samples.size()) / (sum / 200'000) - 1));
  }
  EXPECT_LT(worst, 0.2);
}

TEST(BudgetSteps, SamplesThatCostNothingAreSpreadOverTheSteps) {
  const auto blocks = std::make_shared<BlockTable>(std::vector<BlockTable::FileBlocks>{{3000, 50}});
  std::vector<std::uint32_t> lengths;
  for (std::uint32_t i = 0; i < 3000; ++i) lengths.push_back(i % 3 == 0 ? 30 + i % 40 : 0);
  const auto index = std::make_shared<StoredLengths>(*blocks, lengths);
  const std::shared_ptr<const Sampler> sampler = make_block_shuffle(blocks, BlockShuffleShape{8, 4}, 3);
  for (const std::uint32_t lanes : {1u, 4u}) {
    const auto plan = BudgetSteps::make(sampler, *blocks, index, {.tokens = 1000, .lanes = lanes}, {}, 1).value();
    const std::uint64_t steps = plan->num_steps(0);
    const auto cursor = plan->cursor(0, 0);
    std::uint64_t samples_seen = 0;
    for (std::uint64_t k = 0; k < steps; ++k) {
      std::vector<SampleRef> samples;
      std::vector<BlockRows> counted_elsewhere;
      bool counted = false;
      cursor->next(samples, counted_elsewhere, counted);
      samples_seen += samples.size();
      EXPECT_LT(samples.size(), 2 * plan->mean_samples());
    }
    EXPECT_EQ(samples_seen, 3000u);
  }
}

TEST(BudgetSteps, WhatCannotBePlannedIsRefusedByName) {
  const auto blocks = std::make_shared<BlockTable>(std::vector<BlockTable::FileBlocks>{{4, 2}, {4, 4}});
  const std::vector<std::uint32_t> lengths{1, 2, 3, 4, 5, 70'000, 7, 500};
  const auto index = std::make_shared<StoredLengths>(*blocks, lengths);
  const std::shared_ptr<const Sampler> sampler = make_sequential(blocks);
  const auto refused = [&](const BudgetOptions& options) {
    const auto made = BudgetSteps::make(sampler, *blocks, index, options, {}, 0);
    EXPECT_FALSE(made.ok());
    return made.ok() ? std::string() : std::string(made.error().what());
  };
  const std::string too_long = refused({.tokens = 100});
  EXPECT_NE(too_long.find("2 of 8 samples"), std::string::npos) << too_long;
  EXPECT_NE(too_long.find("row 1 of file 1, with 70000"), std::string::npos) << too_long;
  refused({.tokens = 0});
  refused({.tokens = std::uint64_t{1} << 31});
  refused({.tokens = 100'000, .lanes = 0});
  refused({.tokens = 100'000, .padded = true});  // dealt
  EXPECT_TRUE(BudgetSteps::make(sampler, *blocks, index, {.tokens = 100, .long_alone = true}, {}, 0).ok());
}

TEST(BudgetSteps, IdentityNamesWhatChangesTheSteps) {
  const auto blocks = std::make_shared<BlockTable>(std::vector<BlockTable::FileBlocks>{{100, 10}});
  const auto lengths_of = [&](std::uint32_t last) {
    std::vector<std::uint32_t> lengths(100, 3);
    lengths.back() = last;
    return std::make_shared<StoredLengths>(*blocks, lengths);
  };
  const std::shared_ptr<const Sampler> sampler = make_sequential(blocks);
  const auto identity = [&](const BudgetOptions& options, RankShare share = {}, std::uint32_t last = 3) {
    return BudgetSteps::make(sampler, *blocks, lengths_of(last), options, share, 0).value()->identity();
  };
  const std::string own = identity({.tokens = 64, .lanes = 2});
  EXPECT_EQ(own, identity({.tokens = 64, .lanes = 2}, {1, 2}));
  EXPECT_NE(own, identity({.tokens = 65, .lanes = 2}));
  EXPECT_NE(own, identity({.tokens = 64, .lanes = 4}));
  EXPECT_NE(own, identity({.tokens = 64, .lanes = 2, .arrangement = StepArrangement::kBucket}));
  EXPECT_NE(own, identity({.tokens = 64, .lanes = 2, .tail = Tail::kDrop}));
  EXPECT_NE(own, identity({.tokens = 64, .lanes = 2}, {}, 4));
}

}  // namespace
}  // namespace headrace
