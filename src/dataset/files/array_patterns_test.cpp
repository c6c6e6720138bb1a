#include "dataset/files/array_patterns.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace headrace {
namespace {

std::vector<ArrayInfo> named(const std::vector<std::pair<std::string, std::vector<std::uint64_t>>>& arrays) {
  std::vector<ArrayInfo> out;
  for (const auto& [path, shape] : arrays) {
    out.emplace_back().path = path;
    out.back().shape = shape;
  }
  return out;
}

std::vector<const ArrayInfo*> pointers(const std::vector<ArrayInfo>& arrays) {
  std::vector<const ArrayInfo*> out;
  for (const ArrayInfo& one : arrays) out.push_back(&one);
  return out;
}

TEST(ArrayPatterns, NumbersInPathsAreStars) {
  EXPECT_EQ(path_pattern("data/demo_12/obs/x2"), "data/demo_*/obs/x*");
  EXPECT_EQ(path_pattern("tiles/(0, 256)/array"), "tiles/(*, *)/array");
  EXPECT_EQ(path_pattern("x"), "x");
  EXPECT_EQ(path_pattern(""), "");
}

TEST(ArrayPatterns, AFewAreShownOneByOne) {
  const auto arrays = named({{"a_1", {5}}, {"a_2", {7, 3}}});
  EXPECT_EQ(array_lines(pointers(arrays)), "\n  a_1 (5)\n  a_2 (7, 3)");
  EXPECT_FALSE(is_array_for_each_sample(pointers(arrays)));
}

TEST(ArrayPatterns, ManyAreOneLineAPattern) {
  std::vector<std::pair<std::string, std::vector<std::uint64_t>>> list;
  for (std::uint64_t i = 0; i < 30; ++i) list.push_back({"data/demo_" + std::to_string(i) + "/actions", {5 + i, 7}});
  list.push_back({"mask/train", {360}});
  const auto arrays = named(list);
  EXPECT_EQ(array_lines(pointers(arrays)),
            "\n  data/demo_*/actions: 30 arrays of 5 to 34 rows, the first data/demo_0/actions (5, 7)"
            "\n  mask/train (360)");
  EXPECT_TRUE(is_array_for_each_sample(pointers(arrays)));
}

TEST(ArrayPatterns, ManyPatternsAreCutAndCounted) {
  std::vector<std::pair<std::string, std::vector<std::uint64_t>>> list;
  for (int i = 0; i < 26; ++i) list.push_back({std::string(1, static_cast<char>('a' + i)), {3}});
  for (int i = 0; i < 26; ++i) list.push_back({std::string(2, static_cast<char>('a' + i)) + "1", {3}});
  const auto arrays = named(list);
  const std::string text = array_lines(pointers(arrays));
  EXPECT_EQ(std::ranges::count(text, '\n'), 21);
  EXPECT_TRUE(text.ends_with("\n  and 32 more arrays")) << text;
}

}  // namespace
}  // namespace headrace
