#include "dataset/volumes/class_counts.h"

#include <gtest/gtest.h>

#include <array>

namespace headrace {
namespace {

Source volumes_of(std::uint64_t side, std::size_t count = 1) {
  Source source;
  for (std::size_t i = 0; i < count; ++i) source.files.emplace_back().extents = {side, side, side};
  return source;
}

Axes block_of(std::uint64_t patch, const Source& volumes) {
  return class_block(std::array{patch, patch, patch}, volumes);
}

TEST(ClassBlock, IsAQuarterOfAPatchAndAtMost16Voxels) {
  const Source small = volumes_of(100);
  for (const auto& [patch, side] : {std::pair<std::uint64_t, std::uint64_t>{1, 1}, {4, 1}, {8, 2}, {64, 16}, {512, 16}})
    EXPECT_EQ(block_of(patch, small)[0], side) << patch;
}

TEST(ClassBlock, GrowsToHalfThePatchWhereThereWouldBeMillions) {
  EXPECT_EQ(block_of(64, volumes_of(2048))[0], 16U) << "2^21 blocks";
  EXPECT_EQ(block_of(64, volumes_of(2048, 2))[0], 32U);
  EXPECT_EQ(block_of(64, volumes_of(40'000))[0], 32U) << "a patch about any place of a block has all of it";
  EXPECT_EQ(block_of(4, volumes_of(378))[0], 4U);
  EXPECT_EQ(class_block(std::array<std::uint64_t, 3>{1, 64, 64}, volumes_of(4096)), (Axes{1, 32, 32}));
}

}  // namespace
}  // namespace headrace
