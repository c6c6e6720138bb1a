#include "catalog/row_set.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

namespace headrace {
namespace {

TEST(RowSet, AnswersAsASortedListDoes) {
  EXPECT_TRUE(rc::check([] {
    const auto whole = *rc::gen::inRange<std::uint64_t>(0, 3000);
    const auto odds = *rc::gen::inRange(1, 60);
    std::vector<std::uint64_t> rows;
    for (std::uint64_t r = 0; r < whole; ++r)
      if (*rc::gen::inRange(0, odds) == 0) rows.push_back(r);
    const RowSet set(whole, rows);
    RC_ASSERT(set.size() == rows.size());
    RC_ASSERT(set.size_of_whole() == whole);
    for (std::uint64_t i = 0; i < rows.size(); ++i) {
      RC_ASSERT(set[i] == rows[i]);
      RC_ASSERT(set.within(i, rows[i], rows[i] + 1) == rows[i]);
      RC_ASSERT(set.within(i, rows[i] - std::min<std::uint64_t>(rows[i], 200), std::min(whole, rows[i] + 700)) ==
                rows[i]);
    }
    for (std::uint64_t r = 0; r <= whole; ++r)
      RC_ASSERT(set.count_below(r) ==
                static_cast<std::uint64_t>(std::lower_bound(rows.begin(), rows.end(), r) - rows.begin()));
  }));
}

TEST(RowSet, RunsAreTheirRows) {
  EXPECT_TRUE(rc::check([] {
    const std::uint64_t whole = *rc::gen::inRange(1, 1500);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> runs;
    std::vector<std::uint64_t> rows;
    for (std::uint64_t at = *rc::gen::inRange<std::uint64_t>(0, 130); at < whole;) {
      const std::uint64_t end = std::min(whole, at + *rc::gen::inRange<std::uint64_t>(0, 200));
      runs.emplace_back(at, end);
      for (std::uint64_t row = at; row < end; ++row) rows.push_back(row);
      at = end + *rc::gen::inRange<std::uint64_t>(1, 130);
    }
    const RowSet set(whole, runs), listed(whole, rows);
    RC_ASSERT(set.size() == rows.size());
    RC_ASSERT(std::ranges::equal(set.words(), listed.words()));
    for (std::uint64_t r = 0; r <= whole; ++r) RC_ASSERT(set.count_below(r) == listed.count_below(r));
  }));
}

TEST(RowSet, CountsAtTheBordersOfItsWords) {
  for (const std::uint64_t whole : {1u, 63u, 64u, 65u, 511u, 512u, 513u, 1024u}) {
    std::vector<std::uint64_t> rows(whole);
    for (std::uint64_t r = 0; r < whole; ++r) rows[r] = r;
    const RowSet set(whole, rows);
    EXPECT_EQ(set.size(), whole);
    EXPECT_EQ(set.count_below(whole), whole);
    EXPECT_EQ(set[whole - 1], whole - 1);
  }
}

}  // namespace
}  // namespace headrace
