#include <gtest/gtest.h>
#include <headrace/error.h>
#include <headrace/field.h>

namespace headrace {
namespace {

TEST(Dims, TellRowsFromWhatIsRagged) {
  const Dims scalar, dense{128, 4}, events{Dims::kRagged, 3}, sensors{Dims::kRagged, Dims::kRagged};
  EXPECT_EQ(scalar.row_elements(), 1u);
  EXPECT_FALSE(dense.is_ragged());
  EXPECT_EQ(dense.row_elements(), 512u);
  EXPECT_EQ(events.levels(), 1u);
  EXPECT_EQ(events.row_shape(), std::vector<std::uint64_t>{3});
  EXPECT_EQ(sensors.levels(), 2u);
  EXPECT_EQ(sensors.row_elements(), 1u);
  EXPECT_EQ((Field{"x", "x", {DType::Kind::kFloat, 4}, events}.row_bytes()), 12u);
}

TEST(Dims, AreWrittenAsPythonWritesShapes) {
  EXPECT_EQ(Dims().text(), "()");
  EXPECT_EQ((Dims{7}).text(), "(7,)");
  EXPECT_EQ((Dims{Dims::kRagged, 3}).text(), "(ragged, 3)");
}

TEST(Dims, RaggedExtentsComeFirst) {
  EXPECT_THROW((Dims{3, Dims::kRagged}), Error);
}

}  // namespace
}  // namespace headrace
