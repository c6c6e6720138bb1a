#include "base/text/number_text.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(NumberText, GroupsDigitsByThousands) {
  EXPECT_EQ(group_digits(0), "0");
  EXPECT_EQ(group_digits(999), "999");
  EXPECT_EQ(group_digits(1000), "1,000");
  EXPECT_EQ(group_digits(1234567), "1,234,567");
  EXPECT_EQ(group_digits(~std::uint64_t{0}), "18,446,744,073,709,551,615");
}

TEST(NumberText, OnlyOneIsSingular) {
  EXPECT_STREQ(plural(0), "s");
  EXPECT_STREQ(plural(1), "");
  EXPECT_STREQ(plural(2), "s");
}

}  // namespace
}  // namespace headrace
