#include "loader/engine/epoch_claims.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

/// Decodes that an epoch counts as needed, in those of all blocks: `claims` of 64 blocks for the samples from `start`
/// up to `gathered_from` of 1024, the others from memory in batches of 8.
double needed(EpochClaims& epochs, std::uint64_t epoch, int claims, std::uint64_t start, std::uint64_t gathered_from) {
  EXPECT_EQ(epochs.start(epoch, start), 0);
  for (int c = 0; c < claims; ++c) epochs.add(epoch);
  double sum = claims / 64.0;
  for (std::uint64_t p = gathered_from; p < 1024; p += 8) sum += epochs.add_gathered(epoch, p, 8) / 1024;
  return sum;
}

TEST(EpochClaims, AWholeEpochIsOneDecodeOfEveryBlockWhereverItsBatchesComeFrom) {
  EpochClaims epochs(64, 1024);
  EXPECT_DOUBLE_EQ(needed(epochs, 0, 64, 0, 1024), 1);
  EXPECT_NEAR(needed(epochs, 1, 17, 0, 24), 1, 1e-12);
  EXPECT_NEAR(needed(epochs, 2, 0, 0, 0), 1, 1e-12);
  EXPECT_NEAR(needed(epochs, 3, 64, 0, 512), 1, 1e-12);
  EXPECT_NEAR(needed(epochs, 4, 0, 768, 768), 0.25, 1e-12);  // resumed
  EXPECT_NEAR(needed(epochs, 5, 16, 512, 640), 0.25 + 0.75 / 2, 1e-12);
}

TEST(EpochClaims, WhatRanAheadIntoAnEpochIsCountedWithIt) {
  EpochClaims epochs(64, 1024);
  EXPECT_EQ(epochs.start(0, 512), 0);
  epochs.add(1, 32);
  EXPECT_EQ(epochs.add_gathered(1, 256, 8), 0) << "before it began";
  EXPECT_NEAR(epochs.start(1, 0), 8 * 0.5 * 1024 / 768, 1e-12);
  EXPECT_EQ(epochs.start(1, 0), 0) << "once";
  EXPECT_NEAR(epochs.add_gathered(1, 264, 8), 8 * 0.5 * 1024 / 768, 1e-12);
  epochs.add_all(2);
  EXPECT_EQ(epochs.add_gathered(2, 0, 8), 0);
  EXPECT_EQ(epochs.start(2, 0), 0);
}

TEST(EpochClaims, AnEpochThatIsBegunAgainElsewhereIsCountedFromThere) {
  EpochClaims epochs(64, 1024);
  EXPECT_NEAR(needed(epochs, 3, 0, 0, 0), 1, 1e-12);
  EXPECT_NEAR(needed(epochs, 3, 0, 512, 512), 0.5, 1e-12);
  EXPECT_NEAR(needed(epochs, 3, 0, 256, 256), 0.75, 1e-12);
  EXPECT_NEAR(needed(epochs, 3, 0, 256, 256), 0.75, 1e-12);
}

}  // namespace
}  // namespace headrace
