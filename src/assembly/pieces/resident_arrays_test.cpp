#include "assembly/pieces/resident_arrays.h"

#include <gtest/gtest.h>

#include <memory>

#include "assembly/block_layout.h"

namespace headrace {
namespace {

std::vector<std::string> messages(std::span<const RowFailure> failures) {
  std::vector<std::string> texts;
  for (const RowFailure& failure : failures) texts.push_back(failure.error.message());
  return texts;
}

using Texts = std::vector<std::string>;

/// Is never read.
class NamedArray final : public ArrayReader {
 public:
  NamedArray() { info_.shape = {1000}; }
  const ArrayInfo& info() const override { return info_; }
  Status locate(RowRange, std::vector<Piece>&) const override { return {}; }
  Result<DecodedPiece> decode(const Piece&, std::span<const std::byte>, const DecodeScratch&) const override {
    return Error(ErrorCode::kInternal, "read");
  }
  RowGeometry geometry(std::uint32_t, std::size_t) const override { return {}; }
  std::uint32_t pieces_across() const override { return 1; }
  ScratchNeed scratch_need(std::uint64_t) const override { return {}; }
  std::string piece_name(const Piece&) const override { return {}; }

 private:
  ArrayInfo info_;
};

/// One file of 1000 rows with one array, which is kept.
class ResidentArraysFailures : public ::testing::Test {
 protected:
  ResidentArraysFailures() {
    source_.set_columns({{"y", "y", {DType::Kind::kUInt, 4}, {}}});
    source_.places = {{0, 0}};
    SourceFile& file = source_.files.emplace_back();
    file.rows = 1000;
    file.arrays.push_back(std::make_shared<NamedArray>());
    layout_.files.push_back({1000, {ArrayRole::kResident}});
    EXPECT_TRUE(arrays_.allocate(source_, layout_).ok());
  }
  void fail(RowRange part, RowRange rows, const std::string& text) {
    arrays_.fail({0, 0, part}, rows, Error(ErrorCode::kCorruptData, text));
  }
  Texts found(RowRange rows) const { return messages(arrays_.failures(0, 0, rows)); }

  Source source_;
  BlockLayout layout_;
  ResidentArrays arrays_;
};

TEST_F(ResidentArraysFailures, OfPiecesAreFoundByRows) {
  fail({500, 500}, {600, 20}, "c");
  fail({0, 500}, {100, 20}, "b");
  fail({0, 500}, {0, 20}, "a");
  fail({0, 500}, {480, 100}, "of this part's rows");
  arrays_.seal();
  EXPECT_EQ(found({0, 1000}), (Texts{"a", "b", "of this part's rows", "c"}));
  EXPECT_EQ(found({19, 1}), Texts{"a"});
  EXPECT_EQ(found({20, 80}), Texts{});
  EXPECT_EQ(found({119, 400}), (Texts{"b", "of this part's rows"}));
  EXPECT_EQ(found({500, 100}), Texts{});
}

/// Memory may end after a piece failed: then the rest of the part is not there either.
TEST_F(ResidentArraysFailures, OfAPartAsAWholeCoverThoseOfItsPieces) {
  fail({0, 100}, {10, 10}, "a piece");
  fail({0, 100}, {0, 100}, "the part");
  fail({100, 100}, {190, 10}, "the last piece");
  fail({100, 100}, {100, 100}, "the next part");
  fail({200, 100}, {200, 10}, "the first piece");
  fail({200, 100}, {200, 100}, "the part after that");
  arrays_.seal();
  for (std::uint64_t row = 20; row < 100; ++row) ASSERT_EQ(found({row, 1}), Texts{"the part"}) << row;
  for (std::uint64_t row = 100; row < 200; ++row) ASSERT_EQ(found({row, 1}), Texts{"the next part"}) << row;
  EXPECT_EQ(found({205, 1}), (Texts{"the first piece", "the part after that"}));
  for (std::uint64_t row = 210; row < 300; ++row) ASSERT_EQ(found({row, 1}), Texts{"the part after that"}) << row;
  EXPECT_EQ(found({300, 700}), Texts{});
}

}  // namespace
}  // namespace headrace
