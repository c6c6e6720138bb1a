#include "format/hdf5/structure/metadata_block.h"

#include <gtest/gtest.h>

#include "format/hdf5/structure/metadata_testing.h"

namespace headrace::hdf5 {
namespace {

TEST(MetadataBlock, SignedBytesComeWithoutTheirChecksum) {
  Disk disk(8, 8, 512);
  const std::uint64_t at = disk.add(disk.block("ABCD").number(7, 2).sign());
  const auto bytes = read_signed(disk.file(), disk.superblock, at, 10, "ABCD");
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(*bytes, disk.block("ABCD").number(7, 2).bytes());
  EXPECT_TRUE(read_signed(disk.file(), disk.superblock, at, 10, "").ok());
}

TEST(MetadataBlock, EachFlippedByteIsFound) {
  for (std::uint64_t i = 0; i < 10; ++i) {
    Disk disk;
    const std::uint64_t at = disk.add(disk.block("ABCD").number(7, 2).sign());
    disk.change(at, i, 1);
    expect_damaged(read_signed(disk.file(), disk.superblock, at, 10, "ABCD"), i < 4 ? "no ABCD" : "checksum");
  }
}

TEST(MetadataBlock, OnlyWhatTheFileHasIsRead) {
  const Disk disk(8, 8, 512);  // 64 bytes behind the user block
  const MemoryFile file = disk.file();
  EXPECT_TRUE(read_metadata(file, disk.superblock, 0, 64).ok());
  EXPECT_TRUE(read_metadata(file, disk.superblock, 64, 0).ok());
  const std::pair<std::uint64_t, std::uint64_t> outside[] = {{0, 65},           {64, 1},    {65, 0},         {~0ULL, 1},
                                                             {~0ULL - 511, 64}, {0, ~0ULL}, {32, ~0ULL - 31}};
  for (const auto& [at, size] : outside)
    expect_damaged(read_metadata(file, disk.superblock, at, size), "in a file of 576");
  expect_damaged(read_signed(file, disk.superblock, 0, 7, "ABCD"), "no ABCD");  // no room for a checksum
  expect_damaged(read_signed(file, disk.superblock, 0, 3, ""), "no ");
}

// A heap of so many names may be sound: it is not called damaged.
TEST(MetadataBlock, LargeOnesAreUnsupported) {
  Disk disk;
  disk.bytes.resize(kMetadataLimitBytes + 2);
  const MemoryFile file = disk.file();
  EXPECT_TRUE(read_metadata(file, disk.superblock, 0, kMetadataLimitBytes).ok());
  auto bytes = read_metadata(file, disk.superblock, 0, kMetadataLimitBytes + 1);
  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.error().code(), ErrorCode::kUnsupported);
}

TEST(MetadataBlock, ErrorsCountBytesFromTheBeginningOfTheFile) {
  Disk disk(8, 8, 512);
  const std::uint64_t at = disk.add(disk.block("ABCD").number(7, 2).sign());
  auto wrong = read_signed(disk.file(), disk.superblock, at, 10, "WXYZ");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().bytes().offset, 512 + at);
  auto outside = read_metadata(disk.file(), disk.superblock, at, 11);
  ASSERT_FALSE(outside.ok());
  EXPECT_EQ(outside.error().bytes().offset, 512 + at);
}

TEST(MetadataBlock, BytesOfNumbers) {
  const std::pair<std::uint64_t, std::size_t> known[] = {
      {0, 1}, {1, 1}, {255, 1}, {256, 2}, {65535, 2}, {65536, 3}, {(1ULL << 56) - 1, 7}, {1ULL << 56, 8}, {~0ULL, 8}};
  for (const auto& [most, bytes] : known) EXPECT_EQ(bytes_for(most), bytes) << most;
}

}  // namespace
}  // namespace headrace::hdf5
