#include "assembly/copying/row_copy.h"

#include <gtest/gtest.h>

#include <vector>

namespace headrace {
namespace {

TEST(RowCopy, CopiesEveryLengthAtEveryAlignmentAndNothingElse) {
  std::vector<std::byte> from(1200), to(1400);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + 1);
  for (std::size_t length : {0u, 1u, 63u, 255u, 256u, 257u, 320u, 511u, 1000u})
    for (std::size_t at : {0u, 1u, 4u, 16u, 63u, 64u})
      for (std::size_t source : {0u, 1u, 4u, 32u}) {
        std::fill(to.begin(), to.end(), std::byte{0});
        copy_run(to.data() + at + 32, from.data() + source, length);
        finish_streaming();
        for (std::size_t i = 0; i < to.size(); ++i) {
          const bool inside = i >= at + 32 && i < at + 32 + length;
          ASSERT_EQ(to[i], inside ? from[source + i - at - 32] : std::byte{0});
        }
      }
}

TEST(RowCopy, FollowsTheGeometry) {
  // A row of (6, 8) two-byte elements from a chunk of (4, 4) at (2, 4): 4 x 4 elements.
  const RowGeometry g = row_box({4, 4}, {6, 8}, {0, 0}, {2, 4}, {4, 4}, 2, 0, 2);
  std::vector<std::uint16_t> chunk(16), row(48, 999);
  for (std::uint16_t i = 0; i < 16; ++i) chunk[i] = i;
  copy_row(g, reinterpret_cast<std::byte*>(row.data()), reinterpret_cast<const std::byte*>(chunk.data()));
  for (std::size_t y = 0; y < 6; ++y)
    for (std::size_t x = 0; x < 8; ++x) EXPECT_EQ(row[y * 8 + x], y >= 2 && x >= 4 ? (y - 2) * 4 + (x - 4) : 999);
}

TEST(RowCopy, TakesOneMemberOutOfRecords) {
  struct Record {
    float a;
    double b;
    std::uint8_t c;
  };
  std::vector<Record> records(10);
  for (int i = 0; i < 10; ++i)
    records[static_cast<std::size_t>(i)] = {static_cast<float>(i), 10. * i, static_cast<std::uint8_t>(i)};
  std::vector<double> b(10);
  copy_row(row_box({10}, {10}, {0}, {0}, {10}, sizeof(Record), offsetof(Record, b), 8),
           reinterpret_cast<std::byte*>(b.data()), reinterpret_cast<const std::byte*>(records.data()));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(b[static_cast<std::size_t>(i)], 10. * i);
}

}  // namespace
}  // namespace headrace
