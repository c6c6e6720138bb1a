#include "assembly/row_digest.h"

#include <gtest/gtest.h>

#include <set>

namespace headrace {
namespace {

TEST(RowDigest, ClosedFormsAreTheSums) {
  RowSums sums;
  for (std::uint64_t n = 0; n < 300; ++n) {
    EXPECT_EQ(RowSums::of_all(n), sums) << n;
    sums.add(n);
  }
  for (std::uint64_t array : {0u, 1u, 7u}) {
    std::uint64_t weights = 0;
    for (std::uint64_t n = 0; n < 50; ++n) {
      EXPECT_EQ(sum_of_piece_weights(array, n), weights);
      weights += piece_weight(array, n);
    }
  }
}

TEST(RowDigest, RowsThatChangePlacesAreNoticed) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t file = 0; file < 4; ++file)
    for (std::uint64_t row = 0; row < 50; ++row)
      for (std::uint64_t position = 0; position < 50; ++position)
        EXPECT_TRUE(seen.insert(place_hash(file, row, position)).second);
  EXPECT_NE(place_hash(0, 1, 2) + place_hash(0, 2, 1), place_hash(0, 1, 1) + place_hash(0, 2, 2));
  EXPECT_NE(piece_weight(0, 1), piece_weight(1, 0));
}

}  // namespace
}  // namespace headrace
