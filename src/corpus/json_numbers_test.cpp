#include "corpus/json_numbers.h"

#include <gtest/gtest.h>

namespace headrace::corpora {
namespace {

TEST(JsonNumbers, AreTakenOutAndNothingElseIs) {
  EXPECT_EQ(without_numbers(R"({"a": 123456789012345678901234567890, "b": [-1.5e+300, 0, 1E9]})"),
            R"({"a": 0, "b": [0, 0, 0]})");
  EXPECT_EQ(without_numbers(R"({"x": NaN, "y": -Infinity, "z": [Infinity]})"),
            R"({"x": null, "y": null, "z": [null]})");
  const char* const texts = R"({"1": "12 NaN \" -3 \\", "t": "\\\"7", "n": null, "f": false})";
  EXPECT_EQ(without_numbers(texts), texts);
  for (const char* const wrong : {"[01]", "[1.]", "[.5]", "[1e]", "[--1]", "[+1]", "[1x]", "[0x10]", "[1.5.3]", "[-]"})
    EXPECT_EQ(without_numbers(wrong), wrong);
  EXPECT_EQ(without_numbers(""), "");
  EXPECT_EQ(without_numbers("\"no end 12"), "\"no end 12");
}

}  // namespace
}  // namespace headrace::corpora
