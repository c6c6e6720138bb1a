#include "base/memory/fill_elements.h"

#include <gtest/gtest.h>

#include <vector>

namespace headrace {
namespace {

std::vector<int> filled(const std::vector<int>& first, std::size_t element_bytes, std::size_t elements) {
  std::vector<std::byte> bytes, out(element_bytes * elements, std::byte{0xee});
  for (const int value : first) bytes.push_back(static_cast<std::byte>(value));
  fill_elements(bytes, element_bytes, out);
  std::vector<int> values;
  for (const std::byte byte : out) values.push_back(std::to_integer<int>(byte));
  return values;
}

TEST(FillElements, RepeatsWholeElements) {
  EXPECT_EQ(filled({1, 2, 3}, 3, 3), (std::vector<int>{1, 2, 3, 1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(filled({7, 7}, 2, 2), (std::vector<int>{7, 7, 7, 7}));
  EXPECT_EQ(filled({9}, 1, 5), (std::vector<int>{9, 9, 9, 9, 9}));
}

TEST(FillElements, ZerosFollowTheFirstBytes) {
  EXPECT_EQ(filled({5}, 3, 2), (std::vector<int>{5, 0, 0, 5, 0, 0}));
  EXPECT_EQ(filled({0}, 4, 1), (std::vector<int>{0, 0, 0, 0}));
  EXPECT_EQ(filled({}, 2, 2), (std::vector<int>{0, 0, 0, 0}));
}

TEST(FillElements, FillsNothing) {
  EXPECT_TRUE(filled({1, 2}, 2, 0).empty());
}

}  // namespace
}  // namespace headrace
