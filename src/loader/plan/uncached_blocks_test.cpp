#include "loader/plan/uncached_blocks.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(UncachedBlocks, ListsEachBlockOnceUntilItIsTaken) {
  UncachedBlocks missing(10);
  EXPECT_FALSE(missing.any());
  EXPECT_EQ(missing.take(), std::nullopt);
  for (int epoch = 0; epoch < 3; ++epoch)
    for (const std::uint32_t block : {9u, 0u, 4u}) missing.add(block);
  EXPECT_TRUE(missing.any());
  EXPECT_EQ(missing.take(), 4u);
  EXPECT_EQ(missing.take(), 0u);
  missing.add(4);  // it was not kept this time either
  EXPECT_EQ(missing.take(), 4u);
  EXPECT_TRUE(missing.any());
  EXPECT_EQ(missing.take(), 9u);
  EXPECT_FALSE(missing.any());
  EXPECT_EQ(missing.take(), std::nullopt);
}

}  // namespace
}  // namespace headrace
