#include "format/hdf5/structure/fill_check.h"

#include <gtest/gtest.h>

#include <vector>

namespace headrace::hdf5 {
namespace {

std::vector<std::byte> message(std::vector<int> head, std::uint32_t size, std::size_t value_bytes) {
  std::vector<std::byte> bytes;
  for (const int b : head) bytes.push_back(static_cast<std::byte>(b));
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<std::byte>(size >> (8 * i)));
  bytes.resize(bytes.size() + value_bytes);
  return bytes;
}

const std::vector<std::vector<int>> kHeads = {{1, 1, 0, 1}, {2, 1, 0, 1}, {3, 0x20}};  // each says: a value follows

TEST(FillCheck, TakesValuesOfAnElement) {
  for (const auto& head : kHeads) {
    EXPECT_TRUE(check_fill_value(message(head, 8, 8), false, 8).ok());
    EXPECT_TRUE(check_fill_value(message(head, 0, 0), false, 8).ok()) << "zeros";
    EXPECT_EQ(check_fill_value(message(head, 0xFFFFFFFF, 0), false, 8).ok(), head[0] < 3) << "undefined";
  }
  EXPECT_TRUE(check_fill_value(message({}, 8, 8), true, 8).ok());
  EXPECT_TRUE(check_fill_value(message({2, 1, 0, 0}, 8, 0), false, 4).ok()) << "says that it has none";
  EXPECT_TRUE(check_fill_value(message({3, 0}, 8, 0), false, 4).ok()) << "says that it has none";
}

TEST(FillCheck, RefusesOthers) {
  const auto code = [](const std::vector<std::byte>& bytes, bool is_old, std::optional<std::uint64_t> element_bytes) {
    const Status status = check_fill_value(bytes, is_old, element_bytes);
    EXPECT_FALSE(status.ok());
    return status.ok() ? ErrorCode::kInternal : status.error().code();
  };
  for (const auto& head : kHeads) {
    EXPECT_EQ(code(message(head, 8, 8), false, 4), ErrorCode::kCorruptData) << "larger than an element";
    EXPECT_EQ(code(message(head, 4, 4), false, 8), ErrorCode::kCorruptData) << "smaller";
    EXPECT_EQ(code(message(head, 8, 7), false, 8), ErrorCode::kCorruptData) << "past the message";
    EXPECT_EQ(code(message(head, 8, 8), false, std::nullopt), ErrorCode::kUnsupported);
    for (std::size_t cut = 1; cut <= 4; ++cut) {
      std::vector<std::byte> bytes = message(head, 8, 0);
      bytes.resize(bytes.size() - cut);
      EXPECT_EQ(code(bytes, false, 8), ErrorCode::kCorruptData);
    }
  }
  // libhdf5 takes these sizes without a sign: it would copy 4 GiB.
  EXPECT_EQ(code(message({3, 0x20}, 0xFFFFFFFF, 3), false, 8), ErrorCode::kCorruptData);
  EXPECT_EQ(code(message({}, 0xFFFFFFFF, 3), true, 8), ErrorCode::kCorruptData);
  EXPECT_EQ(code(message({}, 4, 4), true, 8), ErrorCode::kCorruptData);
  EXPECT_EQ(code(message({4, 0x20}, 8, 8), false, 8), ErrorCode::kCorruptData) << "no such version";
  EXPECT_EQ(code({}, false, 8), ErrorCode::kCorruptData);
}

}  // namespace
}  // namespace headrace::hdf5
