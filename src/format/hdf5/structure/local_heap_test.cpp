#include "format/hdf5/structure/local_heap.h"

#include <gtest/gtest.h>

#include "format/hdf5/structure/metadata_testing.h"

namespace headrace::hdf5 {
namespace {

constexpr std::uint64_t kNone = 1;  // the end of the free list

/// A heap: its head, and behind it `data`.
Result<LocalHeap> read(const Disk& empty, const Block& data, std::uint64_t free, unsigned size_difference = 0,
                       std::string_view signature = "HEAP") {
  Disk disk = empty;
  const std::uint64_t size = data.bytes().size();
  const std::uint64_t head_bytes = 8 + 2 * disk.superblock.length_bytes + disk.superblock.address_bytes;
  const std::uint64_t at = disk.add(
      disk.block(signature).zeros(4).length(size + size_difference).length(free).address(disk.end() + head_bytes));
  disk.add(data);
  return LocalHeap::read(disk.file(), disk.superblock, at);
}

TEST(LocalHeap, Texts) {
  for (const SizesOfNumbers sizes : kAllSizes)
    for (const std::uint64_t user_block : {0, 512}) {
      const Disk disk(sizes.address, sizes.length, user_block);
      const auto heap = read(disk, disk.block().zeros(1).text("one").zeros(1).text("six").zeros(1).text("ten"), kNone);
      ASSERT_TRUE(heap.ok());
      for (const std::uint64_t at : {0U, 1U, 3U, 4U, 5U, 8U}) EXPECT_TRUE(heap->has_text(at)) << at;
      for (const std::uint64_t at : {9ULL, 11ULL, 12ULL, ~0ULL}) EXPECT_FALSE(heap->has_text(at)) << at;
      EXPECT_EQ(heap->text(0), "");
      EXPECT_EQ(heap->text(1), "one");
      EXPECT_EQ(heap->text(7), "x");
      EXPECT_EQ(heap->text(8), "");
    }
}

TEST(LocalHeap, WithoutTexts) {
  const Disk disk;
  const auto empty = read(disk, disk.block(), kNone);
  ASSERT_TRUE(empty.ok());
  EXPECT_FALSE(empty->has_text(0));
  const auto endless = read(disk, disk.block().text("abc"), kNone);
  ASSERT_TRUE(endless.ok());
  for (std::uint64_t at = 0; at < 4; ++at) EXPECT_FALSE(endless->has_text(at));
}

TEST(LocalHeap, FreeListInAnyOrder) {
  for (const SizesOfNumbers sizes : kAllSizes) {
    const Disk disk(sizes.address, sizes.length);
    const unsigned entry = 2 * sizes.length;  // each of the three is as small as can be
    const Block data =
        disk.block().length(2 * entry).length(entry).length(kNone).length(entry).length(entry).length(entry);
    EXPECT_TRUE(read(disk, data, 0).ok()) << sizes.length;
  }
}

TEST(LocalHeap, FreeListsThatLeadNowhere) {
  const Disk disk;
  const auto list = [&](std::uint64_t first, std::uint64_t next, std::uint64_t size) {
    return read(disk, disk.block().zeros(16).length(next).length(size), first);
  };
  EXPECT_TRUE(list(16, kNone, 16).ok());
  EXPECT_TRUE(list(16, kNone, 0).ok());  // odd, but libhdf5 takes it
  expect_damaged(list(16, kNone, 17), "reaches past it");
  expect_damaged(list(16, kNone, ~0ULL), "reaches past it");
  for (const std::uint64_t nowhere : {17ULL, 32ULL, 33ULL, ~0ULL}) {
    expect_damaged(list(nowhere, kNone, 0), "leads nowhere");
    expect_damaged(list(16, nowhere, 16), "leads nowhere");
  }
  expect_damaged(list(16, 16, 16), "leads nowhere");  // to itself
  // In a circle of two.
  expect_damaged(read(disk, disk.block().length(16).length(16).length(0).length(16), 0), "leads nowhere");
}

TEST(LocalHeap, Damage) {
  const Disk disk;
  expect_damaged(read(disk, disk.block().zeros(8), kNone, 0, "HEAD"), "no signature");
  expect_damaged(read(disk, disk.block().zeros(8), kNone, 1), "in a file of");
  expect_damaged(LocalHeap::read(disk.file(), disk.superblock, 60), "in a file of");
}

}  // namespace
}  // namespace headrace::hdf5
