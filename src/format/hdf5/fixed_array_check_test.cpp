#include "format/hdf5/fixed_array_check.h"

#include <gtest/gtest.h>

#include "storage/testing/memory_file.h"

namespace headrace::hdf5 {
namespace {

Status check(int client, int entry_bytes, std::uint64_t entries, std::uint64_t most_chunks, const char* sign = "FAHD") {
  std::vector<std::byte> bytes(64);
  for (int i = 0; i < 4; ++i) bytes[8 + i] = static_cast<std::byte>(sign[i]);
  bytes[13] = static_cast<std::byte>(client);
  bytes[14] = static_cast<std::byte>(entry_bytes);
  for (int i = 0; i < 8; ++i) bytes[16 + i] = static_cast<std::byte>(entries >> (8 * i));
  Superblock superblock;
  superblock.address_bytes = superblock.length_bytes = 8;
  return check_fixed_array(MemoryFile("memory.h5", bytes), superblock, 8, most_chunks, 4096);
}

TEST(FixedArrayCheck, HasAnEntryForEveryChunk) {
  EXPECT_TRUE(check(0, 8, 5, 5).ok());
  EXPECT_TRUE(check(1, 8 + 3 + 4, 5, 5).ok());
  EXPECT_FALSE(check(0, 8, 4, 5).ok()) << "fewer";
  EXPECT_FALSE(check(0, 8, 6, 5).ok()) << "more";
  EXPECT_FALSE(check(0, 15, 5, 5).ok()) << "entries of filtered chunks";
  EXPECT_FALSE(check(1, 8, 5, 5).ok()) << "entries of unfiltered chunks";
  EXPECT_FALSE(check(2, 8, 5, 5).ok()) << "of no kind";
  EXPECT_FALSE(check(0, 8, 5, 5, "FADB").ok()) << "no header";
}

}  // namespace
}  // namespace headrace::hdf5
