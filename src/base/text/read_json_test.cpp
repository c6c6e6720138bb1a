#include "base/text/read_json.h"

#include <gtest/gtest.h>

#include <string>

namespace headrace {
namespace {

std::string nested(int depth, const char* open, const char* inside, const char* close) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += open;
  text += inside;
  for (int i = 0; i < depth; ++i) text += close;
  return text;
}

TEST(ReadJson, ReadsWhatIsNotTooDeep) {
  EXPECT_EQ(read_json(R"({"a": [1, {"b": "]["}]})").value()["a"][1]["b"], "][");
  EXPECT_TRUE(read_json(nested(kMostJsonDepth, "[", "1", "]")).ok());
  EXPECT_TRUE(read_json(R"(["\"", "[[[[\\"])").ok());
  const std::string brackets = "[\"" + std::string(100'000, '[') + "\"]";
  EXPECT_TRUE(read_json(brackets).ok());
  EXPECT_EQ(read_json<nlohmann::ordered_json>(R"({"b": 1, "a": 2})").value().begin().key(), "b");
}

TEST(ReadJson, RefusesWhatIsDeeperAndWhatIsNone) {
  for (const int depth : {kMostJsonDepth + 1, 70'000, 3'000'000})
    for (const auto& [open, close] : {std::pair("[", "]"), std::pair("{\"a\":", "}")}) {
      const auto read = read_json(nested(depth, open, "1", close));
      ASSERT_FALSE(read.ok());
      EXPECT_EQ(read.error().code(), ErrorCode::kCorruptData);
    }
  for (const char* text : {"", "{", "[1", "{\"a\"}", "nul", "\"abc", "[1]]"})
    EXPECT_FALSE(read_json(text).ok()) << text;
}

}  // namespace
}  // namespace headrace
