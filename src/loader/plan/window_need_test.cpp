#include "loader/plan/window_need.h"

#include <gtest/gtest.h>

#include <random>

namespace headrace {
namespace {

WindowNeed draw(std::mt19937_64& random) {
  WindowNeed need;
  need.mean_bytes = 1 + random() % 1000;
  need.largest_bytes = need.mean_bytes + (random() % 2 ? random() % 5000 : 0);
  need.bookkeeping_bytes = random() % 50;
  need.states_bytes = random() % 50;
  need.most_states_bytes = random() % 500;
  return need;
}

TEST(WindowNeed, HasRoomForTwoOfTheLargestBatches) {
  std::mt19937_64 random(5);
  for (int trial = 0; trial < 1000; ++trial) {
    const WindowNeed need = draw(random);
    for (const std::uint64_t slots : {std::uint64_t{2}, 2 + random() % 20}) {
      EXPECT_GE(need.arena_bytes(slots), 2 * need.largest_bytes);
      EXPECT_GE(need.arena_bytes(slots), slots * need.mean_bytes);
    }
  }
}

TEST(WindowNeed, AsManySlotsAsFit) {
  std::mt19937_64 random(6);
  int tight = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const WindowNeed need = draw(random);
    const std::uint64_t bytes = need.bytes_of(kLeastSlots) + random() % 20'000, wanted = 2 + random() % 40;
    const std::uint64_t slots = need.slots_in(bytes, wanted);
    EXPECT_GE(slots, kLeastSlots);
    EXPECT_LE(slots, wanted);
    EXPECT_LE(need.bytes_of(slots), bytes);
    if (slots == wanted) continue;
    ++tight;
    // What the largest batches take beside the mean ones is put aside whole, also where a long window has room for it.
    const std::uint64_t aside = kLeastSlots * (need.largest_bytes - need.mean_bytes);
    EXPECT_GT((slots + 1) * need.mean_bytes + aside + need.index_bytes(slots + 1), bytes);
  }
  EXPECT_GT(tight, 500);
}

}  // namespace
}  // namespace headrace
