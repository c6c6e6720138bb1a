#include "corpus/utf8.h"

#include <gtest/gtest.h>

namespace headrace::corpora {
namespace {

TEST(Utf8, FindsTheFirstIllFormedSequence) {
  EXPECT_EQ(first_ill_formed("plain, größer, 数据"), std::string_view::npos);
  EXPECT_EQ(first_ill_formed("caf\xe9 x"), 3U);
  EXPECT_EQ(first_ill_formed("ok\xe4\xb8"), 2U);
}

/// Table 3-11 of Unicode 16.0, section 3.9: what is replaced by one character each.
TEST(Utf8, ReplacesTheLongestStartThatIsThere) {
  const std::string one = "\xEF\xBF\xBD";
  EXPECT_EQ(replace_ill_formed("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"),
            "a" + one + one + one + "b" + one + "c" + one + one + "d");
  EXPECT_EQ(replace_ill_formed("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
            one + one + one + one + one + one + one + one + "A");
  EXPECT_EQ(replace_ill_formed("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"),
            one + one + one + one + one + one + one + one + "A");
  EXPECT_EQ(replace_ill_formed("größer"), "größer");
}

}  // namespace
}  // namespace headrace::corpora
