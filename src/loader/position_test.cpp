#include "loader/position.h"

#include <gtest/gtest.h>

#include <string>

namespace headrace {
namespace {

TEST(Position, WhatIsWrittenIsReadTheSame) {
  const LoaderState state{{1, 2, 3, 4}, 245, "mix 64x4", "tokens \"100\"", 7, 20, {3, 40}};
  const auto read = parse_state(state.json());
  ASSERT_TRUE(read.ok()) << read.error().what();
  EXPECT_EQ(read->json(), state.json());
  EXPECT_EQ(read->position, state.position);
  EXPECT_EQ(read->steps, state.steps);
}

TEST(Position, ShapesThatNoLoaderWouldHaveAreNone) {
  EXPECT_EQ(shuffle_of("mix 64x4"), (ShuffleOrder{false, {64, 4, 0}}));
  EXPECT_EQ(shuffle_of("exact"), (ShuffleOrder{true, {}}));
  for (const char* order : {"mix 0x4", "mix 4x0", "mix 4294967295x1", "mix 1x4294967295", "mix 99999999999x1",
                            "mix 4x4 ", "mix 08x4", "mix x4", "mix -1x4", "mix 4", "block 64x4", "files"})
    EXPECT_EQ(shuffle_of(order), std::nullopt) << order;
}

}  // namespace
}  // namespace headrace
