#include "assembly/block_layout.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

constexpr std::uint64_t kX = 8192, kAdj = 32512, kY = 8;

TEST(BlockLayout, AlikeChunksAreTheBlock) {
  const auto c = choose_block({{128, kX}, {128, kAdj}, {128, kY}}, 16384);
  EXPECT_EQ(c.block_rows, 128u);
  EXPECT_EQ(c.aligned, (std::vector<bool>{true, true, true}));
}

TEST(BlockLayout, ASmallMultipleCoarsensTheBlock) {
  const auto c = choose_block({{128, kX}, {64, kAdj}, {8192, kY}}, 16384);
  EXPECT_EQ(c.block_rows, 128u);  // 5.2 MB
  EXPECT_EQ(c.aligned, (std::vector<bool>{true, true, false}));
}

TEST(BlockLayout, ALargeMultipleDoesNot) {
  const auto c = choose_block({{128, kX}, {100, kAdj}, {1, kY}}, 16384);
  EXPECT_EQ(c.block_rows, 100u);  // 3,200 rows would be 130 MB
  EXPECT_EQ(c.aligned, (std::vector<bool>{false, true, true}));
}

TEST(BlockLayout, DataWithoutChunksComesInRuns) {
  EXPECT_EQ(choose_block({{1, 128}}, 1'000'000).block_rows, 2048u);
  EXPECT_EQ(choose_block({{1, 3'000'000}}, 100).block_rows, 1u);
  EXPECT_EQ(choose_block({{1, kAdj}, {128, kX}}, 16384).block_rows, 128u);
}

TEST(BlockLayout, TinyChunksAreTakenTogether) {
  const auto c = choose_block({{10, 128}}, 1'000'000);
  EXPECT_EQ(c.block_rows % 10, 0u);
  EXPECT_GE(c.block_rows * 128, 256u << 10);
}

TEST(BlockLayout, AFileShorterThanItsChunkIsOneBlock) {
  const auto c = choose_block({{1024, kAdj}, {8192, kY}}, 17);
  EXPECT_EQ(c.block_rows, 17u);
  EXPECT_EQ(c.aligned, (std::vector<bool>{true, true}));
  EXPECT_EQ(choose_block({}, 0).block_rows, 1u);
}

}  // namespace
}  // namespace headrace
