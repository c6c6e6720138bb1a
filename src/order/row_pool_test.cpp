#include "order/row_pool.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

namespace headrace {
namespace {

std::vector<SampleRef> taken(RowPool& pool, std::uint64_t at_once) {
  std::vector<SampleRef> rows;
  while (pool.left() > 0) {
    const std::uint64_t count = std::min(at_once, pool.left());
    rows.resize(rows.size() + count);
    pool.take(count, rows.data() + (rows.size() - count));
  }
  return rows;
}

TEST(RowPool, GivesEveryRowOfItsPartsOnce) {
  EXPECT_TRUE(rc::check([] {
    RowPool pool;
    std::vector<SampleRef> want;
    const auto parts = *rc::gen::inRange<std::uint32_t>(0, 20);
    const bool equal = *rc::gen::arbitrary<bool>(), cut = *rc::gen::arbitrary<bool>();
    const std::uint32_t most = *rc::gen::element(3U, 40U, 9000U);  // with the last, some pools are computed
    pool.clear(parts);
    for (std::uint32_t b = 0; b < parts; ++b) {
      const auto first = *rc::gen::inRange<std::uint32_t>(0, 5);
      // As in a file: equal blocks, of which a stream may begin or end in the middle.
      const bool whole = equal && (b > 0 || !cut) && (b + 1 < parts || !cut);
      const std::uint32_t rows = whole ? most : *rc::gen::inRange<std::uint32_t>(0, most + 1);
      pool.add({b + 7, first, rows});
      for (std::uint32_t r = 0; r < rows; ++r) want.push_back({b + 7, first + r});
    }
    pool.shuffle(RandomKey::of({1, parts}));
    RC_ASSERT(pool.left() == want.size());
    std::vector<SampleRef> got = taken(pool, *rc::gen::inRange<std::uint64_t>(1, 300));
    const auto by_place = [](SampleRef a, SampleRef b) {
      return std::pair(a.block, a.row) < std::pair(b.block, b.row);
    };
    std::ranges::sort(got, by_place);
    RC_ASSERT(got == want);
    RC_TAG(want.size() > RowPool::kListedRows ? "computed" : "listed");
  }));
}

TEST(RowPool, TheOrderDoesNotDependOnHowMuchIsTakenAtOnce) {
  for (const std::uint32_t rows : {1000u, 100'000u}) {
    std::vector<std::vector<SampleRef>> orders;
    for (const std::uint64_t at_once : {1ull, 63ull, 1'000'000ull}) {
      RowPool pool;
      pool.clear(2);
      pool.add({3, 0, rows});
      pool.add({9, 5, rows});
      pool.shuffle(RandomKey::of({4}));
      orders.push_back(taken(pool, at_once));
    }
    EXPECT_EQ(orders[0], orders[1]);
    EXPECT_EQ(orders[0], orders[2]);
    EXPECT_FALSE(std::ranges::is_sorted(orders[0], {}, &SampleRef::row));
  }
}

TEST(RowPool, ALargePoolTakesNoMoreMemoryThanTheLargestListedOne) {
  EXPECT_EQ(RowPool::max_bytes(1'000'000'000, 100), RowPool::max_bytes(RowPool::kListedRows, 100));
  EXPECT_LE(RowPool::max_bytes(RowPool::kListedRows, 100), 3 * RowPool::kListedRows);
}

}  // namespace
}  // namespace headrace
