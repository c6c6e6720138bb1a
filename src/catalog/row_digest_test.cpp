#include "catalog/row_digest.h"

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
}

TEST(RowDigest, PartsOfARowWeighAsMuchAsTheRow) {
  for (std::uint64_t field : {0u, 1u, 7u})
    for (std::uint64_t n = 1; n < 50; ++n) {
      std::uint64_t together = 0;
      std::set<std::uint64_t> different;
      for (std::uint64_t i = 0; i < n; ++i) {
        together += part_weight(field, i, n);
        different.insert(part_weight(field, i, n));
      }
      EXPECT_EQ(together, field_weight(field));
      EXPECT_EQ(different.size(), n);
    }
  EXPECT_NE(field_weight(0), field_weight(1));
  EXPECT_EQ(row_weight(3), field_weight(0) + field_weight(1) + field_weight(2));
}

TEST(RowDigest, RunsAddUpHoweverTheyAreCut) {
  for (std::uint64_t row : {0u, 5u, 100'000u})
    for (std::uint64_t place : {0u, 3u, 77'777u})
      for (std::uint64_t count : {1u, 2u, 9u, 178'000u}) {
        const std::uint64_t cut = count / 3;
        EXPECT_EQ(run_hash(row, place, count),
                  run_hash(row, place, cut) + run_hash(row + cut, place + cut, count - cut));
      }
}

TEST(RowDigest, RowsThatChangePlacesAreNoticed) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t row = 0; row < 200; ++row)
    for (std::uint64_t place = 0; place < 200; ++place) EXPECT_TRUE(seen.insert(run_hash(row, place)).second);
  EXPECT_NE(run_hash(1, 2) + run_hash(2, 1), run_hash(1, 1) + run_hash(2, 2));
  EXPECT_NE(run_hash(1, 1, 2), run_hash(1, 1) + run_hash(1, 2));  // a row twice
}

}  // namespace
}  // namespace headrace
