// Types that libhdf5 1.10 would decode, and then convert outside the element.
#include "format/hdf5/structure/datatype_check.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace headrace::hdf5 {
namespace {

/// A float of `size` bytes: the mantissa in the lowest bits, then 4 bits of exponent, then the sign.
std::vector<std::byte> float_message(std::uint32_t size, std::uint32_t order_bits, std::uint8_t mantissa = 3) {
  std::vector<std::byte> bytes;
  const auto put = [&](std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes.push_back(static_cast<std::byte>(value >> 8 * i & 0xFF));
  };
  const std::uint32_t sign = mantissa + 4U;
  put(0x31, 1);
  put(order_bits | 0x20 | sign << 8, 3);
  put(size, 4);
  put(0, 2), put(8 * size, 2);  // all bits of it
  put(mantissa, 1), put(4, 1), put(0, 1), put(mantissa, 1), put(7, 4);
  return bytes;
}

TEST(DatatypeCheck, VaxOrderInAnOddNumberOfBytes) {
  constexpr std::uint32_t kVax = 0x41;
  for (const std::uint32_t size : {1U, 3U, 5U, 9U, 13U}) {
    EXPECT_TRUE(check_datatype(float_message(size, 0)).ok()) << size;
    EXPECT_TRUE(check_datatype(float_message(size, 1)).ok()) << size;
    const Status status = check_datatype(float_message(size, kVax));
    ASSERT_FALSE(status.ok()) << size;
    EXPECT_EQ(status.error().code(), ErrorCode::kCorruptData);
    EXPECT_NE(std::string(status.error().what()).find("VAX byte order"), std::string::npos) << status.error().what();
  }
  for (const std::uint32_t size : {2U, 4U, 8U}) EXPECT_TRUE(check_datatype(float_message(size, kVax)).ok()) << size;
}

TEST(DatatypeCheck, FieldsOfAFloatLieInside) {
  EXPECT_TRUE(check_datatype(float_message(2, 0, 11)).ok());
  EXPECT_FALSE(check_datatype(float_message(2, 0, 12)).ok()) << "the sign is bit 16 of 16";
  EXPECT_FALSE(check_datatype(float_message(2, 0, 0)).ok()) << "no mantissa";
}

struct Member {
  char name;
  std::uint32_t offset, bytes;
};

/// A record of unsigned integers.
std::vector<std::byte> record_message(std::uint32_t size, unsigned version, const std::vector<Member>& members) {
  std::vector<std::byte> bytes;
  const auto put = [&](std::uint64_t value, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) bytes.push_back(static_cast<std::byte>(i < 8 ? value >> 8 * i & 0xFF : 0));
  };
  put(version << 4 | 6U, 1), put(members.size(), 3), put(size, 4);
  for (const Member& m : members) {
    put(static_cast<unsigned char>(m.name), version < 3 ? 8 : 2);
    put(m.offset, version < 3 ? 4 : 1);
    if (version == 1) put(0, 28);  // no axes
    put(0x10, 1), put(0, 3), put(m.bytes, 4), put(0, 2), put(8 * m.bytes, 2);
  }
  return bytes;
}

TEST(DatatypeCheck, MembersOfARecordHaveTheirOwnNamesAndBytes) {
  for (const unsigned version : {1U, 2U, 3U}) {
    const auto said = [version](std::uint32_t size, const std::vector<Member>& members) {
      const Status status = check_datatype(record_message(size, version, members));
      return status.ok() ? std::string() : std::string(status.error().what());
    };
    EXPECT_EQ(said(9, {{'e', 0, 1}, {'f', 1, 8}}), "");
    EXPECT_EQ(said(9, {{'e', 8, 1}, {'f', 0, 8}}), "") << "in another order";
    EXPECT_EQ(said(16, {{'e', 0, 1}, {'f', 8, 8}}), "") << "with a hole";
    EXPECT_NE(said(9, {{'e', 0, 1}, {'e', 1, 8}}).find("two members are called 'e'"), std::string::npos);
    EXPECT_NE(said(9, {{'e', 0, 2}, {'f', 1, 8}}).find("share its byte 1"), std::string::npos);
    EXPECT_NE(said(9, {{'e', 1, 8}, {'f', 0, 2}}).find("share its byte 1"), std::string::npos);
    EXPECT_NE(said(9, {{'e', 0, 1}, {'f', 2, 8}}).find("outside its record"), std::string::npos);
  }
}

}  // namespace
}  // namespace headrace::hdf5
