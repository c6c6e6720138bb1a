#include "order/listed_rows.h"

#include <gtest/gtest.h>

#include "catalog/block.h"

namespace headrace {
namespace {

using Numbers = std::vector<std::uint64_t>;

ListedRows::Rows rows(Numbers numbers) {
  return std::make_shared<const Numbers>(std::move(numbers));
}

TEST(ListedRows, OfEveryEpochAreThoseGivenLast) {
  ListedRows list(rows({1, 2}), true);
  EXPECT_TRUE(list.is_settled(7));
  EXPECT_EQ(*list.of(7), (Numbers{1, 2}));
  EXPECT_TRUE(list.set(1, rows({2, 1})));
  EXPECT_EQ(*list.of(0), (Numbers{1, 2}));
  EXPECT_EQ(*list.of(1), (Numbers{2, 1}));
  EXPECT_EQ(*list.of(9), (Numbers{2, 1}));
  EXPECT_FALSE(list.set(2, rows({2, 1})));  // as was expected
  EXPECT_EQ(list.version(), 1u);
}

TEST(ListedRows, OfEpochsOfTheirOwnAreWaitedFor) {
  ListedRows list(rows({1, 2}), false);
  EXPECT_TRUE(list.is_settled(0));
  EXPECT_FALSE(list.is_settled(1));
  EXPECT_FALSE(list.set(1, rows({2, 1})));  // nothing can have been read ahead
  EXPECT_TRUE(list.is_settled(1));
  EXPECT_TRUE(list.set(1, rows({2, 2})));  // but now it can
  EXPECT_FALSE(list.set(2, rows({1, 1})));
  EXPECT_FALSE(list.is_settled(0));  // two epochs are held
  EXPECT_EQ(list.version(), 1u);
}

TEST(ListedRows, IdentityIsOfTheRowsOfAnEpoch) {
  const ListedRows some(rows({7, 3, 3, 99, 0}), true), same(rows({7, 3, 3, 99, 0}), false),
      other(rows({7, 3, 99, 3, 0}), true);
  EXPECT_EQ(some.identity(0), same.identity(0));
  EXPECT_NE(some.identity(0), other.identity(0));
  EXPECT_NE(some.identity(), other.identity());
  EXPECT_EQ(same.identity(), "listed");
}

TEST(ListedRows, ASamplerGoesThroughThemAsTheyAre) {
  const auto blocks = std::make_shared<const BlockTable>(std::vector<BlockTable::FileBlocks>{{100, 16}});
  const auto list = std::make_shared<ListedRows>(rows({7, 3, 3, 99, 0}), false);
  list->set(1, rows({0, 1, 2, 3, 4}));
  const auto sampler = make_listed(blocks, list);
  for (const std::uint64_t epoch : {0, 1}) {
    std::vector<SampleRef> samples;
    std::vector<BlockRows> counted_elsewhere;
    const auto cursor = sampler->cursor({.epoch = epoch, .global_batch = 2});
    list->set(2, rows({9, 9, 9, 9, 9}));  // a cursor under way goes on with what was there
    for (int step = 0; step < 3; ++step) cursor->next_step(samples, counted_elsewhere);
    Numbers got;
    for (const SampleRef s : samples) got.push_back(blocks->first_row(s.block) + s.row);
    EXPECT_EQ(got, epoch == 0 ? (Numbers{7, 3, 3, 99, 0}) : (Numbers{0, 1, 2, 3, 4}));
    if (epoch == 0) list->set(1, rows({0, 1, 2, 3, 4}));
  }
  EXPECT_EQ(sampler->identity_at(1, 0), "listed");
  EXPECT_NE(sampler->identity_at(1, 2), sampler->identity_at(2, 2));
}

}  // namespace
}  // namespace headrace
