#include "catalog/block.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

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
    }
  }
  EXPECT_EQ(row, table.num_rows());
  EXPECT_EQ(table.place(9).file, 3u);
  EXPECT_EQ(table.place(9).rows, (RowRange{0, 5}));
}

TEST(BlockTable, KnowsWhenAllBlocksAreEqual) {
  EXPECT_TRUE(BlockTable({{256, 128}, {128, 128}}).all_equal());
  EXPECT_FALSE(BlockTable({{256, 128}, {64, 64}}).all_equal());
  EXPECT_EQ(BlockTable().num_blocks(), 0u);
}

}  // namespace
}  // namespace headrace
