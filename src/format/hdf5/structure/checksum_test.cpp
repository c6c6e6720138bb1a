#include "format/hdf5/structure/checksum.h"

#include <gtest/gtest.h>

#include <string_view>

namespace headrace::hdf5 {
namespace {

std::uint32_t of(std::string_view text) {
  return metadata_checksum(std::as_bytes(std::span(text)));
}

// What lookup3.c (https://burtleburtle.net/bob/c/lookup3.c) says of these itself, in driver5.
TEST(Hdf5Checksum, AsInLookup3) {
  EXPECT_EQ(of(""), 0xDEADBEEFU);
  EXPECT_EQ(of("Four score and seven years ago"), 0x17770551U);
}

}  // namespace
}  // namespace headrace::hdf5
