#include "order/steps/fixed_steps.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "order/online_sampler.h"
#include "order/testing/random_mixture.h"

namespace headrace {
namespace {

std::shared_ptr<const BlockTable> random_table() {
  std::vector<BlockTable::FileBlocks> files;
  for (int n = *rc::gen::inRange(1, 4); n > 0; --n)
    files.push_back({*rc::gen::inRange<std::uint64_t>(0, 300), *rc::gen::inRange<std::uint64_t>(1, 40)});
  return std::make_shared<BlockTable>(files);
}

TEST(FixedSteps, StepsOfAllRanksPartTheOrderFromAnyPosition) {
  EXPECT_TRUE(rc::check([] {
    const auto blocks = random_table();
    if (blocks->num_rows() == 0) return;
    const auto world = *rc::gen::inRange<std::uint32_t>(1, 5);
    const auto batch = world * *rc::gen::inRange<std::uint64_t>(1, 40);
    const auto tail = *rc::gen::element(Tail::kPartial, Tail::kDrop, Tail::kPad);
    const std::uint64_t epoch = *rc::gen::inRange<std::uint64_t>(0, 3);
    for (const auto& sampler : {std::shared_ptr<const Sampler>(make_block_shuffle(blocks, BlockShuffleShape{6, 2}, 11)),
                                std::shared_ptr<const Sampler>(make_sequential(blocks)), random_mixture(blocks)}) {
      const std::uint64_t total = sampler->num_samples();
      const auto position = *rc::gen::inRange<std::uint64_t>(0, total + 1);
      const auto whole = sampler->cursor({.epoch = epoch, .position = position, .global_batch = batch});
      std::vector<std::unique_ptr<FixedSteps>> plans;
      std::vector<std::unique_ptr<StepCursor>> ranks;
      for (std::uint32_t r = 0; r < world; ++r) {
        plans.push_back(std::make_unique<FixedSteps>(sampler, batch, RankShare{r, world}, tail));
        ranks.push_back(plans.back()->cursor(epoch, position));
      }
      const std::uint64_t steps = plans[0]->steps_after(epoch, position);
      RC_ASSERT(steps == (tail == Tail::kDrop ? (total - position) / batch : (total - position + batch - 1) / batch));
      RC_ASSERT(plans[0]->ends_at(epoch, position) == (steps == 0));
      std::uint64_t at = position;
      bool repeats = false;
      for (std::uint64_t k = 0; k < steps; ++k) {
        std::vector<SampleRef> want, got;
        std::vector<BlockRows> counted_elsewhere;
        whole->next_step(want, counted_elsewhere);
        for (std::uint32_t r = 0; r < world; ++r) {
          std::vector<SampleRef> mine;
          bool counted = false;
          const Step step = ranks[r]->next(mine, counted_elsewhere, counted);
          RC_ASSERT(step.begin == at);
          RC_ASSERT(step.end == at + want.size());
          RC_ASSERT(step.index == at / batch);
          RC_ASSERT(step.last == (k + 1 == steps));
          RC_ASSERT(mine.size() <= plans[r]->most_rows());
          RC_ASSERT(step.first_position == at + got.size() || step.real_rows == 0);
          if (tail == Tail::kPad) RC_ASSERT(mine.size() == batch / world);
          RC_ASSERT(!mine.empty());  // the mean of nothing is NaN
          repeats = repeats || mine.size() > step.real_rows;
          mine.resize(step.real_rows);
          got.insert(got.end(), mine.begin(), mine.end());
        }
        RC_ASSERT(got == want);
        at += want.size();
      }
      if (tail != Tail::kPad) RC_ASSERT(repeats == plans[0]->repeats_samples(position));
      RC_ASSERT(plans[0]->position_of(epoch, 2) == std::min(2 * batch, total));
    }
  }));
}

TEST(FixedSteps, AStepIsSettledOnceItsLastSampleIsGiven) {
  const auto blocks = std::make_shared<BlockTable>(std::vector<BlockTable::FileBlocks>{{64, 16}});
  const auto rows = std::make_shared<OnlineRows>();
  const FixedSteps steps(make_online(blocks, rows, 20), 8);
  EXPECT_FALSE(steps.is_settled(0, 0));
  rows->begin(0, 0);
  rows->append(std::vector<std::uint64_t>(9, 1));
  EXPECT_TRUE(steps.is_settled(0, 0));
  EXPECT_FALSE(steps.is_settled(0, 8));
  rows->append(std::vector<std::uint64_t>(11, 1));
  EXPECT_TRUE(steps.is_settled(0, 16));  // the last one is short
}

}  // namespace
}  // namespace headrace
