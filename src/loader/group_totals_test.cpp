#include <gtest/gtest.h>
#include <headrace/group_totals.h>

#include <cmath>
#include <limits>
#include <vector>

namespace headrace {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();

struct Memory {
  std::vector<std::int64_t> count = std::vector<std::int64_t>(2, 0), votes = std::vector<std::int64_t>(6, 0);
  std::vector<double> sum = std::vector<double>(6, 0), max = std::vector<double>(6, kNothing),
                      tops = std::vector<double>(12, kNothing);
  GroupTotals totals() {
    return {.groups = 2,
            .classes = 3,
            .top = 2,
            .count = count,
            .nan = {},
            .votes = votes,
            .sum = sum,
            .max = max,
            .tops = tops};
  }
};

TEST(GroupTotals, AddsEachRowToItsGroup) {
  Memory m;
  const std::vector<std::int64_t> groups{1, 0, 1, 1};
  const std::vector<float> values{1, 2, 2, 0, 0, 5, 3, -1, 4, 9, 1, 0};
  add_rows(m.totals(), groups, values);
  EXPECT_EQ(m.count, (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(m.votes, (std::vector<std::int64_t>{0, 0, 1, 1, 1, 1}));  // of equal values the first
  EXPECT_EQ(m.sum, (std::vector<double>{0, 0, 5, 13, 2, 6}));
  EXPECT_EQ(m.max, (std::vector<double>{0, 0, 5, 9, 2, 4}));
  EXPECT_EQ(m.tops, (std::vector<double>{0, kNothing, 0, kNothing, 5, kNothing, 9, 3, 2, 1, 4, 2}));
}

TEST(GroupTotals, ClassesAreVotes) {
  Memory m;
  add_votes(m.totals(), std::vector<std::int64_t>{0, 0, 1}, std::vector<std::int64_t>{2, 2, 0});
  EXPECT_EQ(m.count, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(m.votes, (std::vector<std::int64_t>{0, 0, 2, 1, 0, 0}));
  EXPECT_EQ(m.sum, std::vector<double>(6, 0));
}

TEST(GroupTotals, RowsWithANaNAreCountedAndDoNotVote) {
  Memory m;
  std::vector<std::int64_t> nan(2, 0);
  GroupTotals totals = m.totals();
  totals.nan = nan;
  const double none = std::numeric_limits<double>::quiet_NaN();
  add_rows(totals, std::vector<std::int64_t>{0, 0, 1}, std::vector<double>{1, none, 3, 1, 2, 3, none, none, none});
  EXPECT_EQ(m.count, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(nan, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(m.votes, (std::vector<std::int64_t>{0, 0, 1, 0, 0, 0}));
  EXPECT_TRUE(std::isnan(m.max[1]));
}

TEST(GroupTotals, RowsOfNoGroupCountForNothing) {
  Memory m, without;
  add_rows(m.totals(), std::vector<std::int64_t>{-1, 0, 1}, std::vector<double>{9, 9, 9, 1, 2, 3, 6, 5, 4});
  add_rows(without.totals(), std::vector<std::int64_t>{0, 1}, std::vector<double>{1, 2, 3, 6, 5, 4});
  add_votes(m.totals(), std::vector<std::int64_t>{-1, 1}, std::vector<std::int64_t>{0, 0});
  add_votes(without.totals(), std::vector<std::int64_t>{1}, std::vector<std::int64_t>{0});
  EXPECT_EQ(m.count, without.count);
  EXPECT_EQ(m.votes, without.votes);
  EXPECT_EQ(m.sum, without.sum);
  EXPECT_EQ(m.max, without.max);
}

TEST(GroupTotals, WhatDoesNotFitIsRefusedBeforeAnythingIsAdded) {
  Memory m;
  const std::vector<double> values(6, 1);
  for (const std::int64_t wrong : {-2, 2}) {
    EXPECT_THROW(add_rows(m.totals(), std::vector<std::int64_t>{0, wrong}, values), Error);
    EXPECT_THROW(add_votes(m.totals(), std::vector<std::int64_t>{0, wrong}, std::vector<std::int64_t>{0, 0}), Error);
  }
  EXPECT_THROW(add_rows(m.totals(), std::vector<std::int64_t>{0}, values), Error);
  EXPECT_THROW(add_votes(m.totals(), std::vector<std::int64_t>{0}, std::vector<std::int64_t>{3}), Error);
  EXPECT_THROW(add_votes(m.totals(), std::vector<std::int64_t>{0}, std::vector<std::int64_t>{-1}), Error);
  m.sum.pop_back();
  EXPECT_THROW(add_rows(m.totals(), std::vector<std::int64_t>{0, 1}, values), Error);
  EXPECT_EQ(m.count, std::vector<std::int64_t>(2, 0));
  EXPECT_EQ(m.votes, std::vector<std::int64_t>(6, 0));
}

}  // namespace
}  // namespace headrace
