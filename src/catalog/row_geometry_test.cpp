#include "catalog/row_geometry.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(RowGeometry, WholeRowIsOneRun) {
  const RowGeometry g = row_box({128, 16}, {128, 16}, {0, 0}, {0, 0}, {128, 16}, 4, 0, 4);
  EXPECT_EQ(g.run_bytes, 128u * 16 * 4);
  EXPECT_TRUE(g.loops.empty());
}

TEST(RowGeometry, EdgeChunkIsStrided) {  // array (n, 10), chunk of 4 across the row: the third chunk holds 2 of 4
  const RowGeometry g = row_box({4}, {10}, {0}, {8}, {2}, 8, 0, 8);
  EXPECT_EQ(g.run_bytes, 16u);
  EXPECT_EQ(g.dst_offset_bytes, 64u);
}

TEST(RowGeometry, MemberOfRecordsLoops) {  // (n, 40) records of 28 bytes, member f4 at 12
  const RowGeometry g = row_box({40}, {40}, {0}, {0}, {40}, 28, 12, 4);
  ASSERT_EQ(g.loops.size(), 1u);
  EXPECT_EQ(g.loops[0].count, 40u);
  EXPECT_EQ(g.loops[0].src_stride_bytes, 28u);
  EXPECT_EQ(g.loops[0].dst_stride_bytes, 4u);
  EXPECT_EQ(g.src_offset_bytes, 12u);
  EXPECT_EQ(g.run_bytes, 4u);
}

TEST(RowGeometry, InnerBoxKeepsOuterLoops) {  // row (6, 8) in chunks (4, 8): the second chunk row has 2 of 4
  const RowGeometry g = row_box({4, 8}, {6, 8}, {0, 0}, {4, 0}, {2, 8}, 2, 0, 2);
  EXPECT_TRUE(g.loops.empty());
  EXPECT_EQ(g.run_bytes, 32u);
  EXPECT_EQ(g.dst_offset_bytes, 64u);
  const RowGeometry h = row_box({4, 4}, {6, 8}, {0, 0}, {0, 4}, {4, 4}, 2, 0, 2);
  ASSERT_EQ(h.loops.size(), 1u);
  EXPECT_EQ(h.run_bytes, 8u);
  EXPECT_EQ(h.loops[0].src_stride_bytes, 8u);
  EXPECT_EQ(h.loops[0].dst_stride_bytes, 16u);
  EXPECT_EQ(h.filled_bytes(), 32u);
}

}  // namespace
}  // namespace headrace
