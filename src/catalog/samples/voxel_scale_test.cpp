#include "catalog/samples/voxel_scale.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

VoxelScale scale_of(double size, double begin) {
  VoxelScale scale;
  scale.size.fill(size);
  scale.begin.fill(begin);
  return scale;
}

TEST(VoxelScale, TheCentresAreNearest) {
  // Voxels of 4 over 16 voxels from 24 on: their centre, 32, is border 8 of the array.
  EXPECT_EQ(scale_of(4, 0).start_of(0, 24, 16, 6, 100), 5);
  EXPECT_EQ(scale_of(4, 0).start_of(0, 24, 16, 16, 100), 0);
  EXPECT_EQ(scale_of(4, 0).start_of(0, 24, 16, 20, 100), -2);
  EXPECT_EQ(scale_of(4, -8).start_of(0, 24, 16, 6, 100), 7);
  EXPECT_EQ(scale_of(0.5, 0).start_of(0, 24, 16, 6, 100), 61);
  // A centre between two places goes to the later one: borders 8.25, 8.5, 8.75.
  EXPECT_EQ(scale_of(4, 0).start_of(0, 25, 16, 6, 100), 5);
  EXPECT_EQ(scale_of(4, 0).start_of(0, 26, 16, 6, 100), 6);
  EXPECT_EQ(scale_of(4, 0).start_of(0, 27, 16, 6, 100), 6);
}

TEST(VoxelScale, ABoxHasAnElementOfTheArray) {
  EXPECT_EQ(scale_of(4, 400).start_of(0, 0, 16, 6, 100), -5);
  EXPECT_EQ(scale_of(4, 0).start_of(0, 4000, 16, 6, 100), 99);
}

}  // namespace
}  // namespace headrace
