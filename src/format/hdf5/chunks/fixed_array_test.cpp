#include "format/hdf5/chunks/fixed_array.h"

#include <gtest/gtest.h>

#include <map>

#include "format/hdf5/structure/metadata_testing.h"
#include "format/hdf5/structure/object_header.h"

namespace headrace::hdf5 {
namespace {

using Entries = std::map<std::uint64_t, std::uint64_t>;  // by number: the address in it

/// An array whose entry number i has address 3 * i + 1, and `more_bytes` of zeros.
struct WrittenFixedArray {
  std::uint64_t entries = 5, page_bits = 2, more_bytes = 0, client = 0;
  std::uint64_t unwritten_page = ~0ULL;
  unsigned says_entries = 0, says_client = 0, says_bytes = 0, says_header = 0;  // added to what is right
  std::uint64_t header = 0, block = 0, prefix_bytes = 0;

  void fill(Block& to, std::uint64_t first, std::uint64_t count) const {
    for (std::uint64_t i = first; i < first + count; ++i) to.address(3 * i + 1).zeros(more_bytes);
  }
  void add_to(Disk& disk) {
    const std::uint64_t per_page = 1ULL << page_bits, pages = (entries + per_page - 1) / per_page;
    header = disk.end();
    block = header + 8 + disk.superblock.length_bytes + disk.superblock.address_bytes + 4;
    disk.add(disk.block("FAHD")
                 .number(0, 1)
                 .number(client, 1)
                 .number(disk.superblock.address_bytes + more_bytes, 1)
                 .number(page_bits, 1)
                 .length(entries + says_entries)
                 .address(block)
                 .sign());
    Block prefix = disk.block("FADB");
    prefix.number(0, 1).number(client + says_client, 1).address(header + says_header);
    if (entries <= per_page) {
      fill(prefix, 0, entries);
      disk.add(prefix.sign());
      return;
    }
    std::vector<unsigned> map((pages + 7) / 8);
    for (std::uint64_t p = 0; p < pages; ++p)
      if (p != unwritten_page) map[p / 8] |= 0x80U >> p % 8;
    for (const unsigned m : map) prefix.number(m, 1);
    disk.add(prefix.sign());
    prefix_bytes = prefix.bytes().size();
    for (std::uint64_t p = 0; p < pages; ++p) {
      Block page = disk.block();
      fill(page, p * per_page, std::min(per_page, entries - p * per_page));
      if (p != unwritten_page) page.sign();
      disk.add(p != unwritten_page ? page : page.zeros(4));
    }
  }
};

Result<Entries> read(const Disk& disk, const WrittenFixedArray& array, std::uint64_t end = ~0ULL) {
  Entries found;
  std::uint64_t last = 0;
  const ArrayEntries expected{array.client, disk.superblock.address_bytes + array.more_bytes};
  HEADRACE_TRY(read_fixed_array(disk.file(), disk.superblock, array.header, expected, array.entries, end,
                                [&](std::uint64_t i, std::span<const std::byte> entry) {
                                  EXPECT_EQ(entry.size(), expected.entry_bytes);
                                  EXPECT_TRUE(i == 0 || i > last) << i;
                                  last = i;
                                  found[i] = ByteCursor(entry).number(disk.superblock.address_bytes);
                                  return Status();
                                }));
  return found;
}

Result<Entries> read(WrittenFixedArray array, std::uint64_t end = ~0ULL) {
  Disk disk;
  array.add_to(disk);
  return read(disk, array, end);
}

void expect_entries(const Result<Entries>& found, const WrittenFixedArray& array, std::uint64_t end = ~0ULL) {
  Result<Entries> copy = found;
  ASSERT_TRUE(copy.ok()) << copy.error().what();
  Entries expected;
  for (std::uint64_t i = 0; i < std::min(end, array.entries); ++i)
    if (i >> array.page_bits != array.unwritten_page) expected[i] = 3 * i + 1;
  EXPECT_EQ(*found, expected);
}

TEST(FixedArray, WithAndWithoutPages) {
  for (const SizesOfNumbers sizes : kAllSizes)
    for (const std::uint64_t user_block : {0, 512})
      for (const std::uint64_t more_bytes : {0, 7})
        for (const std::uint64_t entries : {1, 3, 4, 5, 8, 32, 33, 67}) {  // pages of 4; 8 of them to a byte of the map
          Disk disk(sizes.address, sizes.length, user_block);
          WrittenFixedArray array{.entries = entries, .more_bytes = more_bytes, .client = more_bytes == 0 ? 0U : 1U};
          array.add_to(disk);
          expect_entries(read(disk, array), array);
        }
}

TEST(FixedArray, OnlyEntriesBelowTheEnd) {
  for (const std::uint64_t entries : {4, 33})
    for (std::uint64_t end = 0; end < 35; ++end) {
      const WrittenFixedArray array{.entries = entries};
      expect_entries(read(array, end), array, end);
    }
}

TEST(FixedArray, PagesThatWereNeverWritten) {
  for (std::uint64_t page = 0; page < 9; ++page) {
    const WrittenFixedArray array{.entries = 35, .unwritten_page = page};
    expect_entries(read(array), array);
  }
}

TEST(FixedArray, PagesOfOneEntry) {
  const WrittenFixedArray array{.entries = 9, .page_bits = 0, .unwritten_page = 8};
  expect_entries(read(array), array);
}

TEST(FixedArray, NothingWasWritten) {
  Disk disk;
  WrittenFixedArray array;
  array.header =
      disk.add(disk.block("FAHD").number(0, 1).number(0, 1).number(8, 1).number(2, 1).length(5).address(~0ULL).sign());
  const auto found = read(disk, array);
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->empty());
}

TEST(FixedArray, AnotherArray) {
  expect_damaged(read(WrittenFixedArray{.says_entries = 1}), "6 entries for 5 chunks");
  expect_damaged(read(WrittenFixedArray{.says_client = 1}), "a block of another array");
  expect_damaged(read(WrittenFixedArray{.says_header = 1}), "a block of another array");
  Disk disk;
  WrittenFixedArray array;
  array.add_to(disk);
  array.client = 1;
  expect_damaged(read(disk, array), "the chunk index is damaged");
  array.client = 0, array.more_bytes = 1;
  expect_damaged(read(disk, array), "entries of 8 bytes, 9 expected");
}

TEST(FixedArray, EachFlippedByteIsFound) {
  for (const std::uint64_t entries : {4, 9}) {
    Disk sound;
    WrittenFixedArray array{.entries = entries};
    array.add_to(sound);
    for (std::uint64_t at = array.header; at < sound.end(); ++at) {
      Disk disk = sound;
      disk.change(at, 0, 1);
      expect_damaged(read(disk, array), "damaged");
    }
    sound.bytes.pop_back();
    expect_damaged(read(sound, array), "in a file of");
  }
}

TEST(FixedArray, VersionsThatAreNot) {
  Disk disk;
  WrittenFixedArray array;
  array.add_to(disk);
  disk.change(array.block, 4, 1, array.prefix_bytes);
  expect_damaged(read(disk, array), "another array");
  disk.change(array.header, 4, 1, 28);
  expect_damaged(read(disk, array), "the chunk index is damaged");
}

// Counts as large as numbers get: refused before anything of their size is made, or walked along.
TEST(FixedArray, AbsurdCounts) {
  const auto with = [](std::uint64_t entries, std::uint64_t page_bits) {
    Disk disk;
    WrittenFixedArray array{.entries = entries, .page_bits = page_bits};
    array.header = disk.end();
    disk.add(disk.block("FAHD")
                 .number(0, 1)
                 .number(0, 1)
                 .number(8, 1)
                 .number(page_bits, 1)
                 .length(entries)
                 .address(array.header + 28)
                 .sign());
    disk.add(disk.block("FADB").number(0, 1).number(0, 1).address(array.header).number(0x80, 1).sign());
    return read(disk, array);
  };
  for (const std::uint64_t entries : {1ULL << 20, 1ULL << 40, 1ULL << 61, ~0ULL})
    for (const std::uint64_t page_bits : {0, 1, 10, 40}) expect_damaged(with(entries, page_bits), "damaged");
  expect_damaged(with(5, 41), "pages of 2^41 entries");
  expect_damaged(with(5, 255), "pages of 2^255 entries");
  expect_damaged(with((1 << 23) + 1, 23), "67108868 bytes at");  // 2 pages: each 64 MiB, and its checksum
  expect_damaged(with((1 << 24) + 1, 24), "pages of 16777216 entries");
}

TEST(FixedArray, WhatTakesEntriesMayEndIt) {
  for (const std::uint64_t entries : {4, 9}) {
    Disk disk;
    WrittenFixedArray array{.entries = entries};
    array.add_to(disk);
    auto status = read_fixed_array(disk.file(), disk.superblock, array.header, {0, 8}, entries, entries,
                                   [](std::uint64_t i, std::span<const std::byte>) {
                                     return i == 3 ? Status(Error(ErrorCode::kInvalidArgument, "3")) : Status();
                                   });
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace headrace::hdf5
