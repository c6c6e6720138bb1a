#include "assembly/pieces/piece_geometries.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(PieceGeometries, ManyFilesOfManyChunksAcrossTakeAsMuchAsOne) {
  constexpr std::uint32_t kAcross = 400, kFields = 3;
  PieceGeometries geometries;
  std::vector<char> files(200);
  std::size_t made = 0;
  for (int pass = 0; pass < 2; ++pass)
    for (const char& file : files)
      for (int rows = 0; rows < 3; ++rows)  // pieces of the same columns below each other
        for (std::uint32_t across = 0; across < kAcross; ++across) {
          const auto& got = geometries.get(&file, across, [&] {
            ++made;
            return std::vector<RowGeometry>(kFields, RowGeometry{.src_offset_bytes = across, .loops = {}});
          });
          ASSERT_EQ(got.size(), kFields);
          ASSERT_EQ(got[0].src_offset_bytes, across);
          ASSERT_LE(geometries.size(), PieceGeometries::kMost);
        }
  // Once for each file and pass, and again where the room ended between rows of pieces.
  EXPECT_LE(made, 2 * files.size() * kAcross * 3 / 2);
}

TEST(PieceGeometries, APieceOfMoreColumnsThanAreKeptIsKnownUntilTheNext) {
  PieceGeometries geometries;
  const char file = 0;
  const auto make = [] { return std::vector<RowGeometry>(2 * PieceGeometries::kMost); };
  EXPECT_EQ(geometries.get(&file, 0, make).size(), 2 * PieceGeometries::kMost);
  EXPECT_EQ(geometries.get(&file, 1, make).size(), 2 * PieceGeometries::kMost);
  EXPECT_EQ(geometries.size(), 2 * PieceGeometries::kMost);  // of one piece, not of both
}

}  // namespace
}  // namespace headrace
