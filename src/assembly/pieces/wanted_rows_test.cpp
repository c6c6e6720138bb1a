#include "assembly/pieces/wanted_rows.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace headrace {
namespace {

/// Rows of 1 KiB, one behind the other, or in chunks. Notes what is asked for.
class Array final : public ArrayReader {
 public:
  explicit Array(std::uint64_t chunk_rows) {
    info_.shape = {10'000};
    info_.record_bytes = 1024;
    if (chunk_rows > 0) info_.chunk_shape = {chunk_rows};
  }
  [[nodiscard]] const ArrayInfo& info() const override { return info_; }
  Status locate(RowRange rows, std::vector<Piece>& out) const override {
    if (info_.chunk_shape.empty()) return out.emplace_back().rows = rows, Status();
    const std::uint64_t each = info_.chunk_shape[0];
    for (std::uint64_t c = rows.first / each; c * each < rows.end(); ++c) out.emplace_back().rows = {c * each, each};
    return {};
  }
  Result<DecodedPiece> decode(const Piece&, std::span<const std::byte>, const DecodeScratch&) const override {
    return Error(ErrorCode::kInternal, "not used");
  }
  [[nodiscard]] RowGeometry geometry(std::uint32_t, std::size_t) const override { return {}; }
  [[nodiscard]] std::uint32_t pieces_across() const override { return 1; }
  [[nodiscard]] ScratchNeed scratch_need(std::uint64_t) const override { return {}; }
  [[nodiscard]] std::string piece_name(const Piece&) const override { return ""; }

 private:
  ArrayInfo info_;
};

/// Runs that overlap, lie within others and touch: of any of them each row is found, and no piece without one.
TEST(WantedRows, FindsThePiecesOfRunsInAnyOrder) {
  const Array chunked(10);
  std::mt19937 random(1);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  for (int trial = 0; trial < 500; ++trial) {
    const RowRange block{100 * below(5), 200 + below(300)};
    std::vector<bool> wanted(block.end());
    WantedRows rows;
    for (std::uint64_t i = 0, n = below(6); i < n; ++i) {
      const std::uint64_t first = below(block.count),
                          count = 1 + below(std::min<std::uint64_t>(block.count - first, 60));
      rows.add({first, count});
      for (std::uint64_t r = first; r < first + count; ++r) wanted[block.first + r] = true;
    }
    rows.seal();
    std::vector<Piece> pieces;
    ASSERT_TRUE(chunked.locate(block, pieces).ok());
    for (const Piece& piece : pieces) {
      bool expected = false;
      for (std::uint64_t r = piece.rows.first; r < piece.rows.end() && r < block.end(); ++r) expected |= wanted[r];
      EXPECT_EQ(rows.has(chunked, piece, block), expected) << piece.rows.first;
    }
  }
}

TEST(WantedRows, LocatesRunsOfRowsThatAreAddressable) {
  const Array array(0);
  const RowRange block{1000, 4000};
  WantedRows rows;
  for (const RowRange& run : {RowRange{3000, 5}, RowRange{10, 40}, RowRange{20, 5}, RowRange{100, 1}}) rows.add(run);
  rows.seal();
  std::vector<Piece> pieces;
  ASSERT_TRUE(rows.locate(array, block, pieces).ok());
  ASSERT_EQ(pieces.size(), 2U);  // 50 rows between are less than what is read together
  EXPECT_EQ(pieces[0].rows, (RowRange{1010, 91}));
  EXPECT_EQ(pieces[1].rows, (RowRange{4000, 5}));
  rows.clear();
  rows.add({0, 2500});  // so many that all are read
  rows.seal();
  pieces.clear();
  ASSERT_TRUE(rows.locate(array, block, pieces).ok());
  ASSERT_EQ(pieces.size(), 1U);
  EXPECT_EQ(pieces[0].rows, block);
}

}  // namespace
}  // namespace headrace
