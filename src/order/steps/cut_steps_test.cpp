#include "order/steps/cut_steps.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "order/listed_rows.h"

namespace headrace {
namespace {

using Numbers = std::vector<std::uint64_t>;

struct ListedOrder {
  std::shared_ptr<const BlockTable> blocks;
  Numbers rows, sizes;
  std::shared_ptr<const ListedRows> listed;

  [[nodiscard]] CutSteps steps(RankShare share = {}) const {
    return {make_listed(blocks, listed), make_listed_cuts(blocks, listed), share};
  }
  [[nodiscard]] Numbers rows_in(const std::vector<SampleRef>& samples) const {
    Numbers out;
    for (const SampleRef s : samples) out.push_back(blocks->first_row(s.block) + s.row);
    return out;
  }
};

ListedOrder random_order() {
  ListedOrder made;
  made.blocks = std::make_shared<const BlockTable>(std::vector<BlockTable::FileBlocks>{{90, 16}, {10, 4}});
  made.sizes = *rc::gen::nonEmpty(rc::gen::container<Numbers>(rc::gen::inRange<std::uint64_t>(1, 9)));
  for (const std::uint64_t size : made.sizes)
    for (std::uint64_t i = 0; i < size; ++i) made.rows.push_back(*rc::gen::inRange<std::uint64_t>(0, 100));
  made.listed = std::make_shared<const ListedRows>(
      ListedRows::List{std::make_shared<const Numbers>(made.rows), batch_ends_of(made.sizes)}, true);
  return made;
}

TEST(CutSteps, RanksGetWholeBatchesInTurnFromAnyBatch) {
  EXPECT_TRUE(rc::check([] {
    const ListedOrder order = random_order();
    const auto world = *rc::gen::inRange<std::uint32_t>(1, 5);
    const auto first = *rc::gen::inRange<std::size_t>(0, order.sizes.size());
    std::vector<std::unique_ptr<StepCursor>> ranks;
    const CutSteps one = order.steps();
    const std::uint64_t begin = one.position_of(0, first);
    std::uint64_t steps = 0;
    for (std::uint32_t r = 0; r < world; ++r) {
      const CutSteps mine = order.steps({r, world});
      steps = mine.steps_after(0, begin);
      RC_ASSERT(steps == (order.sizes.size() - first + world - 1) / world);
      RC_ASSERT(mine.most_rows() == *std::max_element(order.sizes.begin(), order.sizes.end()));
      ranks.push_back(mine.cursor(0, begin));
    }
    std::uint64_t at = begin, batch = first;
    for (std::uint64_t s = 0; s < steps; ++s) {
      const std::uint64_t end = order.steps({0, world}).end_after(0, at);
      std::uint64_t handed = at;
      for (std::uint32_t r = 0; r < world; ++r, ++batch) {
        std::vector<SampleRef> samples;
        std::vector<BlockRows> counted_elsewhere;
        bool counted = false;
        const Step step = ranks[r]->next(samples, counted_elsewhere, counted);
        RC_ASSERT(step.begin == at);
        RC_ASSERT(step.end == end);
        RC_ASSERT(step.last == (s + 1 == steps));
        const std::uint64_t size = batch < order.sizes.size() ? order.sizes[batch] : 0;
        RC_ASSERT(step.real_rows == size);
        RC_ASSERT(counted == (size > 0));
        if (size == 0) {  // the first sample of the step once more
          RC_ASSERT(order.rows_in(samples) == Numbers{order.rows[at]});
          RC_ASSERT(step.first_position == at);
          RC_ASSERT(order.steps({r, world}).repeats_samples(begin));
          continue;
        }
        RC_ASSERT(samples.size() == size);
        if (size > 0) RC_ASSERT(step.first_position == handed);
        RC_ASSERT(order.rows_in(samples) == Numbers(order.rows.begin() + static_cast<std::ptrdiff_t>(handed),
                                                    order.rows.begin() + static_cast<std::ptrdiff_t>(handed + size)));
        handed += size;
      }
      RC_ASSERT(handed == end);
      at = end;
    }
    RC_ASSERT(at == order.rows.size());
    RC_ASSERT(one.ends_at(0, at));
  }));
}

TEST(CutSteps, AWalkFromInsideABatchBeginsWithWhatIsLeftOfIt) {
  EXPECT_TRUE(rc::check([] {
    const ListedOrder order = random_order();
    const auto position = *rc::gen::inRange<std::uint64_t>(0, order.rows.size());
    const CutSteps steps = order.steps();
    const auto walk = steps.cursor(0, position);
    std::vector<SampleRef> samples;
    std::vector<BlockRows> counted_elsewhere;
    bool counted = false;
    std::uint64_t at = position;
    for (std::uint64_t left = steps.steps_after(0, position); left > 0; --left) {
      RC_ASSERT(at != position || steps.end_after(0, at) <= order.rows.size());
      at = walk->next(samples, counted_elsewhere, counted).end;
    }
    RC_ASSERT(order.rows_in(samples) ==
              Numbers(order.rows.begin() + static_cast<std::ptrdiff_t>(position), order.rows.end()));
  }));
}

TEST(CutSteps, PositionsAreTheEndsOfBatches) {
  const auto blocks = std::make_shared<const BlockTable>(std::vector<BlockTable::FileBlocks>{{100, 16}});
  const auto rows = std::make_shared<const Numbers>(Numbers{1, 2, 3, 4, 5, 6});
  const auto listed = std::make_shared<const ListedRows>(ListedRows::List{rows, batch_ends_of(Numbers{1, 3, 2})}, true);
  const CutSteps steps(make_listed(blocks, listed), make_listed_cuts(blocks, listed), {1, 2});
  EXPECT_EQ(steps.num_steps(0), 2U);
  EXPECT_EQ(steps.position_of(0, 0), 0U);
  EXPECT_EQ(steps.position_of(0, 1), 4U);
  EXPECT_EQ(steps.position_of(0, 2), 6U);
  EXPECT_EQ(steps.position_of(0, ~std::uint64_t{0}), 6U);
  EXPECT_EQ(steps.steps_after(0, 6), 0U);
  EXPECT_EQ(steps.steps_after(0, 1), 1U);
}

TEST(ListedRows, FitWhereStepsAndSlotsDo) {
  const auto list = [](Numbers rows, Numbers sizes) {
    return ListedRows::List{std::make_shared<const Numbers>(std::move(rows)), batch_ends_of(sizes)};
  };
  const ListedRows listed(list({1, 2, 3, 4}, {3, 1}), false);
  EXPECT_TRUE(listed.fits(list({4, 3, 2, 1}, {1, 3})));
  EXPECT_TRUE(listed.fits(list({4, 3, 2, 1}, {2, 2})));
  EXPECT_FALSE(listed.fits(list({4, 3, 2, 1}, {1, 2, 1})));
  EXPECT_FALSE(listed.fits(list({4, 3, 2, 1, 0}, {2, 3})));
  EXPECT_FALSE(listed.fits(list({4, 3, 2, 1}, {4})));
  EXPECT_FALSE(listed.fits(list({4, 3, 2, 1}, {})));
  const ListedRows small(list({1, 2, 3, 4}, {2, 2}), false);
  EXPECT_FALSE(small.fits(list({1, 2, 3, 4}, {3, 1})));  // a larger batch than slots are made for
  EXPECT_NE(listed.identity(0), ListedRows(list({1, 2, 3, 4}, {1, 3}), true).identity(0));
}

}  // namespace
}  // namespace headrace
