#include "assembly/kept/epoch_blocks.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

struct Asked {
  std::uint32_t unit;
  bool first = false;
};

/// Return how many of the blocks are to be counted.
int counted(EpochBlocks& blocks, std::uint64_t epoch, std::vector<Asked> asked) {
  blocks.ask(epoch, asked, [](std::uint32_t unit) { return 100 + unit; });
  int count = 0;
  for (const Asked& a : asked) count += a.first;
  return count;
}

TEST(EpochBlocks, EachCountsOnceAnEpoch) {
  EpochBlocks blocks(10);
  blocks.start(2);
  EXPECT_EQ(counted(blocks, 0, {{3}, {4}, {9}}), 3);
  EXPECT_EQ(counted(blocks, 0, {{4}, {5}}), 1);
  EXPECT_EQ(counted(blocks, 1, {{4}, {5}}), 2);
  EXPECT_EQ(counted(blocks, 0, {{5}, {6}}), 1) << "the epoch before is not over";
  EXPECT_EQ(counted(blocks, 2, {{5}, {6}}), 2);
  EXPECT_EQ(counted(blocks, 0, {{7}}), 0) << "that epoch is";
  EXPECT_EQ(counted(blocks, 1, {{5}, {6}}), 1);
  EXPECT_EQ(blocks.ahead_bytes(), 0u);
}

TEST(EpochBlocks, AnEpochCountsFromItsStartOn) {
  EpochBlocks blocks(10);
  blocks.start(4);
  EXPECT_EQ(counted(blocks, 4, {{1}, {2}}), 2);
  EXPECT_EQ(counted(blocks, 5, {{1}, {2}}), 0) << "read ahead";
  EXPECT_EQ(blocks.ahead_bytes(), 0u);
  blocks.start(5);
  EXPECT_EQ(blocks.ahead_bytes(), 203u);
  EXPECT_EQ(counted(blocks, 5, {{2}, {3}}), 1);
  blocks.start(5);
  EXPECT_EQ(blocks.ahead_bytes(), 203u);
}

TEST(EpochBlocks, AllCountAtOnceWhereTheyWereDecodedBefore) {
  EpochBlocks blocks(10);
  blocks.start(7);
  blocks.ask_all(7);
  EXPECT_EQ(counted(blocks, 7, {{0}, {9}}), 0);
  blocks.start(8);
  EXPECT_EQ(counted(blocks, 8, {{0}, {9}}), 2);
}

}  // namespace
}  // namespace headrace
