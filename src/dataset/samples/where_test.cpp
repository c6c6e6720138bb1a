#include "dataset/samples/where.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

std::vector<std::uint8_t> choose(const std::string& text, const std::vector<double>& values, std::size_t features) {
  const Where where = Where::parse(text, "x", features, false).value();
  std::vector<std::uint8_t> chosen(values.size()), spare(values.size() * where.depth());
  where.choose(values, chosen, spare);
  return chosen;
}

TEST(Where, AnEntryDecidesForThoseBesideIt) {
  const std::vector<double> values{0, 1, 2, 3, 4, 5};
  EXPECT_EQ(choose("x[..., 0] != 0", values, 2), (std::vector<std::uint8_t>{0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(choose("x[..., -1] <= 3", values, 2), (std::vector<std::uint8_t>{1, 1, 1, 1, 0, 0}));
  EXPECT_EQ(choose("x >= 4", values, 2), (std::vector<std::uint8_t>{0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(choose("4 < x", values, 2), (std::vector<std::uint8_t>{0, 0, 0, 0, 0, 1}));
}

TEST(Where, AndBindsMoreThanOr) {
  const std::vector<double> values{0, 1, 2, 3, 4, 5};
  EXPECT_EQ(choose("x == 0 or x > 1 and x < 4", values, 1), (std::vector<std::uint8_t>{1, 0, 1, 1, 0, 0}));
  EXPECT_EQ(choose("(x == 0 or x > 1) and x < 3", values, 1), (std::vector<std::uint8_t>{1, 0, 1, 0, 0, 0}));
  EXPECT_EQ(choose("x < 3 and (x == 0 or (x > 1 and x != 7))", values, 1),
            (std::vector<std::uint8_t>{1, 0, 1, 0, 0, 0}));
}

TEST(Where, OneSpelling) {
  EXPECT_EQ(Where::parse("0!=x[...,-1]and(x<+5.0)", "x", 3, false).value().text(), "(x[..., 2] != 0 and x < 5)");
}

TEST(Where, NothingElseIsUnderstood) {
  for (const char* text : {"", "x", "x > ", "> 3", "x > 3 x < 2", "x > 3; x", "x[..., 1.5] > 0", "x[:, 0] > 0",
                           "x[..., 99999999999999999999] > 0", "x > 0x10", "x > 1,5", "f(x) > 0", "()", "x.y > 0"}) {
    const Result<Where> where = Where::parse(text, "x", 4, false);
    ASSERT_FALSE(where.ok()) << text;
    EXPECT_EQ(where.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(where.error().field(), "x");
  }
}

}  // namespace
}  // namespace headrace
