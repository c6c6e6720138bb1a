#include "format/hdf5/chunks/extensible_array.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "format/hdf5/structure/metadata_testing.h"
#include "format/hdf5/structure/object_header.h"

namespace headrace::hdf5 {
namespace {

using Entries = std::map<std::uint64_t, std::uint64_t>;  // by number: the address in it

// Where entries lie, counted by hand. The index block has 3 entries and the addresses of 6 data blocks. They have
// 2, 4, 4, 4, 8, 8 entries and end at 33. Super blocks have 4 blocks of 8, 4 of 16, 8 of 16, 8 of 32, 16 of 32 entries,
// and end at 65, 129, 257, 513, 1025. Pages have 8 entries: all but the first super block have blocks of pages.
struct Span {
  std::uint64_t first, entries, block_number;
};
constexpr Span kInIndex[] = {{3, 2, 0}, {5, 4, 1}, {9, 4, 2}, {13, 4, 3}, {17, 8, 4}, {25, 8, 5}};
struct Super {
  std::uint64_t first, blocks, entries;
};
constexpr Super kSupers[] = {{33, 4, 8}, {65, 4, 16}, {129, 8, 16}, {257, 8, 32}, {513, 16, 32}};
constexpr std::uint64_t kAll = 1025, kPage = 8;

/// An array whose entry number i has address 3 * i + 1, and `more_bytes` of zeros.
struct Array {
  std::uint64_t bits = 10, smallest = 2, super_pointers = 4, page_bits = 3, in_index = 3, more_bytes = 0;
  std::uint64_t written = kAll;
  std::set<std::uint64_t> only = {};  ///< Blocks and pages without any of these entries are not made. Empty: all are.
  bool own_offsets = false;           ///< In data blocks of the index block, which libhdf5 writes otherwise.
  unsigned wrong_header = 0;          ///< Added to what blocks say of their header, ...
  unsigned wrong_offset = 0;          ///< ... and of their place.
  std::uint64_t header = 0, index = 0, index_bytes = 0, data = 0, data_bytes = 0, super = 0, super_bytes = 0, page = 0;

  [[nodiscard]] bool made(std::uint64_t first, std::uint64_t count) const {
    const auto at = only.lower_bound(first);
    return only.empty() || (at != only.end() && *at < first + count);
  }
  Block start(const Disk& disk, const char* signature) const {
    return disk.block(signature).number(0, 1).number(more_bytes == 0 ? 0 : 1, 1).address(header + wrong_header);
  }
  void fill(Block& to, std::uint64_t first, std::uint64_t count) const {
    for (std::uint64_t i = first; i < first + count; ++i) to.address(3 * i + 1).zeros(more_bytes);
  }
  std::uint64_t add_data(Disk& disk, std::uint64_t first, std::uint64_t count, std::uint64_t says, bool pages) {
    if (!made(first, count)) return disk.superblock.undefined_address();
    Block block = start(disk, "EADB").number(says + wrong_offset, 2);
    if (!pages) fill(block, first, count);
    data = disk.add(block.sign()), data_bytes = block.bytes().size();
    const std::uint64_t at = data;
    for (std::uint64_t p = first; pages && p < first + count; p += kPage) {
      Block values = disk.block();
      fill(values, p, kPage);
      page = disk.add(made(p, kPage) ? values.sign() : values.zeros(4));
    }
    return at;
  }
  std::uint64_t add_super(Disk& disk, const Super& s) {
    if (!made(s.first, s.blocks * s.entries)) return disk.superblock.undefined_address();
    const std::uint64_t pages = s.entries > kPage ? s.entries / kPage : 0, map_bytes = (pages + 7) / 8;
    std::vector<unsigned> map(s.blocks * map_bytes);
    Block addresses = disk.block();
    for (std::uint64_t b = 0; b < s.blocks; ++b) {
      const std::uint64_t first = s.first + b * s.entries;
      addresses.address(add_data(disk, first, s.entries, first - in_index, pages > 0));
      for (std::uint64_t p = 0; p < pages; ++p)
        if (made(first + p * kPage, kPage)) map[(b * pages + p) / 8] |= 0x80U >> (b * pages + p) % 8;
    }
    Block block = start(disk, "EASB").number(s.first - in_index + wrong_offset, 2);
    for (const unsigned m : map) block.number(m, 1);
    block.bytes().insert(block.bytes().end(), addresses.bytes().begin(), addresses.bytes().end());
    super = disk.add(block.sign()), super_bytes = block.bytes().size();
    return super;
  }
  void add_header(Disk& disk, std::uint64_t index_block) {
    disk.put(header, disk.block("EAHD")
                         .number(0, 1)
                         .number(more_bytes == 0 ? 0 : 1, 1)
                         .number(disk.superblock.address_bytes + more_bytes, 1)
                         .number(bits, 1)
                         .number(in_index, 1)
                         .number(smallest, 1)
                         .number(super_pointers, 1)
                         .number(page_bits, 1)
                         .zeros(4 * disk.superblock.length_bytes)
                         .length(written)
                         .length(kAll)
                         .address(index_block)
                         .sign());
  }
  Array& add_to(Disk& disk) {
    header = disk.add(disk.block().zeros(16 + 6 * disk.superblock.length_bytes + disk.superblock.address_bytes));
    Block block = start(disk, "EAIB");
    fill(block, 0, 3);
    for (const Span& d : kInIndex) {
      // What libhdf5 writes: the number of the block counts among all, from where its super block's entries begin.
      constexpr std::uint64_t begin[] = {0, 2, 6, 6, 14, 14};
      const std::uint64_t says = own_offsets ? d.first - 3 : begin[d.block_number] + d.block_number * d.entries;
      block.address(add_data(disk, d.first, d.entries, says, false));
    }
    for (const Super& s : kSupers) block.address(add_super(disk, s));
    block.address(disk.superblock.undefined_address());  // the last super block, which nothing was written to
    index = disk.add(block.sign()), index_bytes = block.bytes().size();
    add_header(disk, index);
    return *this;
  }
};

Result<Entries> read(const Disk& disk, const Array& array, std::uint64_t end = ~0ULL) {
  Entries found;
  std::uint64_t last = 0;
  const ArrayEntries expected{array.more_bytes == 0 ? 0U : 1U, disk.superblock.address_bytes + array.more_bytes};
  HEADRACE_TRY(read_extensible_array(disk.file(), disk.superblock, array.header, expected, end,
                                     [&](std::uint64_t i, std::span<const std::byte> entry) {
                                       EXPECT_EQ(entry.size(), expected.entry_bytes);
                                       EXPECT_TRUE(i == 0 || i > last) << i;
                                       last = i;
                                       found[i] = ByteCursor(entry).number(disk.superblock.address_bytes);
                                       return Status();
                                     }));
  return found;
}

Result<Entries> read(Array array) {
  Disk disk;
  array.add_to(disk);
  return read(disk, array);
}

Entries all_below(std::uint64_t end) {
  Entries expected;
  for (std::uint64_t i = 0; i < end; ++i) expected[i] = 3 * i + 1;
  return expected;
}

TEST(ExtensibleArray, EveryBlockAndPage) {
  for (const SizesOfNumbers sizes : kAllSizes)
    for (const std::uint64_t user_block : {0, 512})
      for (const std::uint64_t more_bytes : {0, 7})
        for (const bool own_offsets : {false, true}) {
          Disk disk(sizes.address, sizes.length, user_block);
          Array array{.more_bytes = more_bytes, .own_offsets = own_offsets};
          array.add_to(disk);
          auto found = read(disk, array);
          ASSERT_TRUE(found.ok()) << found.error().what();
          EXPECT_EQ(*found, all_below(kAll));
        }
}

TEST(ExtensibleArray, OnlyEntriesBelowTheEnd) {
  for (const std::uint64_t end : {0, 1, 3, 4, 33, 34, 65, 66, 73, 74, 129, 600, 1024, 1025, 1026}) {
    Disk disk;
    Array array;
    array.add_to(disk);
    auto found = read(disk, array, end);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(*found, all_below(std::min(end, kAll)));
    array.written = end;  // and as the header says it
    array.add_header(disk, array.index);
    EXPECT_EQ(*read(disk, array), all_below(std::min(end, kAll)));
  }
}

/// The first of the entries that are there if entry number i is, and how many: those of its block, or its page.
std::pair<std::uint64_t, std::uint64_t> written_with(std::uint64_t i) {
  for (const Span& d : kInIndex)
    if (i >= d.first && i < d.first + d.entries) return {d.first, d.entries};
  return {i - (i - 33) % kPage, kPage};
}

TEST(ExtensibleArray, WhatWasNeverWritten) {
  for (const std::set<std::uint64_t>& only :
       std::vector<std::set<std::uint64_t>>{{0}, {4}, {32}, {33}, {64}, {65}, {73}, {128}, {260, 300}, {1024}}) {
    Disk disk;
    Array array{.only = only};
    array.add_to(disk);
    auto found = read(disk, array);
    ASSERT_TRUE(found.ok()) << found.error().what();
    Entries expected;
    for (const auto& [i, address] : all_below(kAll))
      if (i < 3 || array.made(written_with(i).first, written_with(i).second)) expected[i] = address;
    EXPECT_EQ(*found, expected);
    for (const std::uint64_t i : only) EXPECT_TRUE(found->contains(i)) << i;
    EXPECT_LT(found->size(), 30U);
  }
}

TEST(ExtensibleArray, WithoutAnIndexBlock) {
  Disk disk;
  Array array;
  array.add_to(disk).add_header(disk, ~0ULL);
  EXPECT_TRUE(read(disk, array)->empty());
}

TEST(ExtensibleArray, HeadersThatCannotBe) {
  const auto with = [](auto change) {
    Disk disk;
    Array array;
    array.add_to(disk);
    change(array);
    array.add_header(disk, array.index);
    return read(disk, array);
  };
  EXPECT_TRUE(with([](Array&) {}).ok());
  for (const std::uint64_t n : {0, 3, 255}) {
    expect_damaged(with([n](Array& a) { a.smallest = n; }), "its header");
    expect_damaged(with([n](Array& a) { a.super_pointers = n; }), "its header");
  }
  for (const std::uint64_t bits : {0, 1, 3, 49, 64, 255})  // too few for one block, for the index block's; too many
    expect_damaged(with([bits](Array& a) { a.bits = bits; }), "its header");
  expect_damaged(with([](Array& a) { a.bits = 4; }), "checksum");  // enough, but the block ends elsewhere
  expect_damaged(with([](Array& a) { a.bits = 48; }), "in a file");
  for (const std::uint64_t bits : {21, 63, 64, 255})
    expect_damaged(with([bits](Array& a) { a.page_bits = bits; }), "its header");
  // Blocks of 8 entries belong to the index block. libhdf5 would look for their pages, and find a null pointer.
  expect_damaged(with([](Array& a) { a.page_bits = 2; }), "pages in the data blocks of its index block");
  expect_damaged(with([](Array& a) { a.more_bytes = 1; }), "damaged");
}

TEST(ExtensibleArray, BlocksOfOthers) {
  Array array;
  array.wrong_header = 1;
  expect_damaged(read(array), "a block of another array");
  array.wrong_header = 0, array.wrong_offset = 1;
  expect_damaged(read(array), "a data block of other entries");
  array.only = {200};  // of a super block
  expect_damaged(read(array), "a super block of other entries");
}

TEST(ExtensibleArray, EachFlippedByteIsFound) {
  Disk sound;
  Array array{.only = {2, 10, 40, 300}};
  array.add_to(sound);
  ASSERT_TRUE(read(sound, array).ok());
  const std::uint64_t blocks[][2] = {{array.header, 16 + 48 + 8},
                                     {array.index, array.index_bytes},
                                     {array.super, array.super_bytes},
                                     {array.data, array.data_bytes}};
  for (const auto& [at, size] : blocks)
    for (std::uint64_t i = 0; i < size; ++i) {
      Disk disk = sound;
      disk.change(at, i, 1);
      expect_damaged(read(disk, array), "damaged");
      if (i != 4 && i != 5) continue;
      disk = sound;
      disk.change(at, i, 1, size);  // another version or client, with a checksum that fits
      expect_damaged(read(disk, array), "damaged");
    }
}

TEST(ExtensibleArray, EachFlippedByteOfAPageIsFound) {
  Disk sound;
  Array array;
  array.add_to(sound);
  for (std::uint64_t i = 0; i < kPage * 8 + 4; ++i) {
    Disk disk = sound;
    disk.change(array.page, i, 1);
    expect_damaged(read(disk, array), "checksum");
  }
}

// Pages do not say whose they are. Here each block begins 8 pages after the one before it, has its own first bytes in
// place of the last of these, and all others in common with it.
TEST(ExtensibleArray, BlocksThatOverlap) {
  // With 2^30 entries, super block number 24 has 4096 blocks of 8192 entries.
  constexpr std::uint64_t kBlocks = 4096, kEntries = 8192, kPages = kEntries / kPage, kSuper = 24, kStep = 8;
  constexpr std::uint64_t kPageBytes = kPage * 8 + 4, kPrefixBytes = 22;
  for (const std::uint64_t used : {1, 64}) {
    Disk disk;
    Array array{.bits = 30, .written = ~0ULL};
    array.header = disk.add(disk.block().zeros(72));
    std::uint64_t first = 0;
    for (std::uint64_t u = 0; u < kSuper; ++u) first += (1ULL << u / 2) * (2ULL << (u + 1) / 2);
    Block page = disk.block(), super = array.start(disk, "EASB").number(first, 4), addresses = disk.block();
    array.fill(page, 0, kPage);
    page.sign();
    const std::uint64_t data = disk.add(disk.block().zeros(kPrefixBytes));
    for (std::uint64_t p = 0; p < kPages + kStep * used; ++p) disk.add(page);
    for (std::uint64_t b = 0; b < kBlocks; ++b) {
      for (std::uint64_t p = 0; p < kPages; p += kStep) super.number(b < used ? 0xFE : 0, 1);
      const std::uint64_t at = data + b * kStep * kPageBytes;
      addresses.address(b < used ? at : ~0ULL);
      if (b < used) disk.put(at, array.start(disk, "EADB").number(first + b * kEntries, 4).sign());
    }
    super.bytes().insert(super.bytes().end(), addresses.bytes().begin(), addresses.bytes().end());
    const std::uint64_t super_at = disk.add(super.sign());
    Block index = array.start(disk, "EAIB");
    array.fill(index, 0, 3);
    for (int i = 0; i < 6; ++i) index.address(~0ULL);
    for (std::uint64_t u = 4; u < 30; ++u) index.address(u == kSuper ? super_at : ~0ULL);
    array.add_header(disk, disk.add(index.sign()));
    if (used == 1) {
      EXPECT_EQ(read(disk, array)->size(), 3 + kEntries / 8 * 7);
    } else {
      expect_damaged(read(disk, array), "its blocks overlap");
    }
  }
}

TEST(ExtensibleArray, WhatTakesEntriesMayEndIt) {
  for (const std::uint64_t last : {2, 30, 60, 900}) {
    Disk disk;
    Array array;
    array.add_to(disk);
    auto status = read_extensible_array(disk.file(), disk.superblock, array.header, {0, 8}, kAll,
                                        [&](std::uint64_t i, std::span<const std::byte>) {
                                          EXPECT_LE(i, last);
                                          return i == last ? Status(Error(ErrorCode::kInvalidArgument, "")) : Status();
                                        });
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace headrace::hdf5
