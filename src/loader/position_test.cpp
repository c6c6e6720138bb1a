#include "loader/position.h"

#include <gtest/gtest.h>

#include <string>

namespace headrace {
namespace {

TEST(Position, WhatIsWrittenIsReadTheSame) {
  const LoaderState state{{1, 2, 3, 4}, 245, "block 64x4", "tokens \"100\"", 7, 20, {3, 40}};
  const auto read = parse_state(state.json());
  ASSERT_TRUE(read.ok()) << read.error().what();
  EXPECT_EQ(read->json(), state.json());
  EXPECT_EQ(read->position, state.position);
  EXPECT_EQ(read->steps, state.steps);
}

TEST(Position, ShapesThatNoLoaderWouldHaveAreNone) {
  EXPECT_EQ(shape_of("block 64x4"), (ShuffleShape{64, 4, 0}));
  for (const char* order : {"block 0x4", "block 4x0", "block 4294967295x1", "block 1x4294967295", "block 99999999999x1",
                            "block 4x4 ", "block 08x4", "block x4", "block -1x4", "block 4", "exact"})
    EXPECT_EQ(shape_of(order), ShuffleShape{}) << order;
}

}  // namespace
}  // namespace headrace
