#include "catalog/block.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

namespace headrace {
namespace {

TEST(BlockTable, BlocksOfAFileMayDifferInLength) {
  const BlockTable table({{10, 4, {1, 4, 10}}, {8, 4}, {3, 1, {3}}});
  EXPECT_EQ(table.num_rows(), 21u);
  EXPECT_EQ(table.num_blocks(), 3u + 2 + 1);
  EXPECT_EQ(table.max_block_rows(), 6u);
  EXPECT_FALSE(table.all_equal());
  std::uint64_t row = 0;
  for (std::uint64_t b = 0; b < table.num_blocks(); ++b) {
    EXPECT_EQ(table.first_row(b), row);
    for (std::uint32_t r = 0; r < table.block_rows(b); ++r, ++row) {
      EXPECT_EQ(table.find(row).block, b);
      EXPECT_EQ(table.find(row).row_in_block, r);
      EXPECT_EQ(table.find(row).left, table.block_rows(b) - r);
    }
  }
  EXPECT_EQ(row, 21u);
  EXPECT_EQ(table.place(2).rows, (RowRange{4, 6}));
  EXPECT_TRUE(BlockTable({{10, 1, {5, 10}}, {5, 5}}).all_equal());
  std::vector<std::uint64_t> ends(1000);
  std::iota(ends.begin(), ends.end(), 1);
  EXPECT_GE(BlockTable({{1000, 1, ends}}).memory_bytes(), 8000u + BlockTable({{1, 1}}).memory_bytes());
}

TEST(BlockTable, CoversEveryRowOnce) {
  const BlockTable table({{1000, 128}, {0, 64}, {64, 64}, {5, 100}});
  EXPECT_EQ(table.num_rows(), 1069u);
  EXPECT_EQ(table.num_blocks(), 8u + 0 + 1 + 1);
  EXPECT_EQ(table.max_block_rows(), 128u);
  EXPECT_FALSE(table.all_equal());
  std::uint64_t row = 0;
  for (std::uint64_t b = 0; b < table.num_blocks(); ++b) {
    EXPECT_EQ(table.first_row(b), row);
    for (std::uint32_t r = 0; r < table.block_rows(b); ++r, ++row) {
      const auto p = table.find(row);
      EXPECT_EQ(p.block, b);
      EXPECT_EQ(p.row_in_block, r);
      EXPECT_EQ(p.left, table.block_rows(b) - r);
    }
  }
  EXPECT_EQ(row, table.num_rows());
  EXPECT_EQ(table.place(9).file, 3u);
  EXPECT_EQ(table.place(9).rows, (RowRange{0, 5}));
}

TEST(BlockTable, CountsChosenRowsOnly) {
  EXPECT_TRUE(rc::check([] {
    std::vector<BlockTable::FileBlocks> files;
    std::uint64_t total = 0;
    for (int i = *rc::gen::inRange(1, 5); i > 0; --i) {
      files.push_back({*rc::gen::inRange<std::uint64_t>(0, 300), *rc::gen::inRange<std::uint64_t>(1, 90)});
      if (*rc::gen::arbitrary<bool>())
        for (std::uint64_t end = 0; end < files.back().rows;)
          files.back().ends.push_back(end = std::min(end + *rc::gen::inRange<std::uint64_t>(1, 90), files.back().rows));
      total += files.back().rows;
    }
    const auto odds = *rc::gen::inRange(1, 100);
    std::vector<std::uint64_t> rows;
    for (std::uint64_t r = 0; r < total; ++r)
      if (*rc::gen::inRange(0, odds) == 0) rows.push_back(r);
    const BlockTable whole(files), table(files, std::make_shared<RowSet>(total, rows));
    RC_ASSERT(table.num_rows() == rows.size());
    RC_ASSERT(table.num_stored_rows() == total);
    std::uint64_t row = 0, largest = 0;
    for (std::uint64_t b = 0; b < table.num_blocks(); ++b) {
      RC_ASSERT(table.first_row(b) == row);
      RC_ASSERT(table.block_rows(b) > 0u);
      largest = std::max(largest, table.block_rows(b));
      for (std::uint32_t r = 0; r < table.block_rows(b); ++r, ++row) {
        const auto found = table.find(row);
        RC_ASSERT(found.block == b && found.row_in_block == r && found.left == table.block_rows(b) - r);
        const auto stored = whole.find(rows[row]);
        RC_ASSERT(whole.place(stored.block).file == table.place(b).file);
        RC_ASSERT(whole.place(stored.block).rows == table.place(b).rows);
        RC_ASSERT(table.stored_row(b, r) == stored.row_in_block);
      }
    }
    RC_ASSERT(row == rows.size());
    RC_ASSERT(table.max_block_rows() == largest);
  }));
}

TEST(BlockTable, KnowsWhenAllBlocksAreEqual) {
  EXPECT_TRUE(BlockTable({{256, 128}, {128, 128}}).all_equal());
  EXPECT_FALSE(BlockTable({{256, 128}, {64, 64}}).all_equal());
  EXPECT_EQ(BlockTable().num_blocks(), 0u);
}

}  // namespace
}  // namespace headrace
