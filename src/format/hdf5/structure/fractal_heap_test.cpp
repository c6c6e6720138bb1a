#include "format/hdf5/structure/fractal_heap.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "format/hdf5/structure/metadata_testing.h"

namespace headrace::hdf5 {
namespace {

std::byte byte_at(std::uint64_t offset) {
  return static_cast<std::byte>(offset * 7 + 1);
}

/// A heap whose space has byte_at() everywhere. Two blocks to a row: of 64, 64, 128, 256 bytes, and from row 4 on
/// indirect ones of 512, 1024, ... bytes, which have 3, 4, ... rows themselves.
struct Heap {
  std::uint64_t id_bytes = 7, filter_bytes = 0, flags = 2, most_managed = 100, width = 2, start = 64, most_direct = 256;
  std::uint64_t most_bits = 16, rows = 6, version = 0;
  std::uint64_t unmade_row = 99;                ///< Row of the root whose blocks were never needed.
  unsigned wrong_header = 0, wrong_offset = 0;  ///< Added to what blocks say of themselves.
  std::uint64_t huge_tree = ~0ULL, root = ~0ULL, header = 0, direct = 0, indirect = 0, indirect_bytes = 0;

  [[nodiscard]] Block start_of(const Disk& disk, const char* signature, std::uint64_t offset) const {
    return disk.block(signature).number(0, 1).address(header + wrong_header).number(offset + wrong_offset, 2);
  }
  std::uint64_t add_direct(Disk& disk, std::uint64_t offset, std::uint64_t size) {
    Block block = start_of(disk, "FHDB", offset);
    const std::size_t sum_at = block.bytes().size();
    if ((flags & 2) != 0) block.zeros(4);
    for (std::uint64_t i = block.bytes().size(); i < size; ++i) block.bytes().push_back(byte_at(offset + i));
    direct = disk.add(block);
    if ((flags & 2) != 0) disk.put(direct + sum_at, disk.block().number(metadata_checksum(block.bytes()), 4));
    return direct;
  }
  std::uint64_t add_indirect(Disk& disk, std::uint64_t offset, std::uint64_t count, bool is_root) {
    Block block = start_of(disk, "FHIB", offset);
    for (std::uint64_t row = 0; row < count; ++row)
      for (std::uint64_t i = 0; i < width; ++i) {
        const std::uint64_t size = row == 0 ? 64 : 64ULL << (row - 1);
        if (is_root && row == unmade_row)
          block.address(disk.superblock.undefined_address());
        else
          block.address(row < 4 ? add_direct(disk, offset, size) : add_indirect(disk, offset, row - 1, false));
        offset += size;
      }
    indirect = disk.add(block.sign()), indirect_bytes = block.bytes().size();
    return indirect;
  }
  void put_header(Disk& disk) const {
    const std::size_t length = disk.superblock.length_bytes, address = disk.superblock.address_bytes;
    Block block = disk.block("FRHP")
                      .number(version, 1)
                      .number(id_bytes, 2)
                      .number(filter_bytes, 2)
                      .number(flags, 1)
                      .number(most_managed, 4)
                      .length(0)
                      .address(huge_tree)
                      .zeros(length + address + 8 * length)
                      .number(width, 2)
                      .length(start)
                      .length(most_direct)
                      .number(most_bits, 2)
                      .number(1, 2)
                      .address(root)
                      .number(rows, 2);
    if (filter_bytes > 0) block.length(0).zeros(4 + filter_bytes);
    disk.put(header, block.sign());
  }
  Heap& add_to(Disk& disk) {
    header = disk.add(disk.block().zeros(26 + 12 * 8 + 3 * 8 + 12 + filter_bytes));
    root = rows == 0 ? add_direct(disk, 0, 64) : add_indirect(disk, 0, rows, true);
    put_header(disk);
    return *this;
  }
};

std::vector<std::byte> managed(std::uint64_t offset, std::uint64_t length) {
  const Superblock sizes;
  return Block(sizes).number(0, 1).number(offset, 2).number(length, 1).zeros(3).bytes();
}

void expect_object(const FractalHeap& heap, std::uint64_t offset, std::uint64_t length) {
  auto object = heap.object(managed(offset, length));
  ASSERT_TRUE(object.ok()) << offset << ": " << object.error().what();
  std::vector<std::byte> expected;
  for (std::uint64_t i = 0; i < length; ++i) expected.push_back(byte_at(offset + i));
  EXPECT_EQ(*object, expected) << offset;
}

TEST(FractalHeap, ObjectsOfEveryBlock) {
  for (const SizesOfNumbers sizes : kAllSizes)
    for (const std::uint64_t user_block : {0, 512})
      for (const std::uint64_t flags : {0, 2}) {
        Disk disk(sizes.address, sizes.length, user_block);
        Heap made{.flags = flags};
        made.add_to(disk);
        const MemoryFile file = disk.file();
        const auto heap = FractalHeap::read(file, disk.superblock, made.header);
        ASSERT_TRUE(heap.ok());
        EXPECT_EQ(heap->id_bytes(), 7U);
        const std::uint64_t prefix = 7 + sizes.address + (flags == 2 ? 4 : 0);
        const std::uint64_t blocks[][2] = {{0, 64},    {64, 64},    {192, 64},   {256, 128}, {512, 256},
                                           {768, 256}, {1024, 64},  {1280, 128}, {1536, 64}, {1792, 128},
                                           {2048, 64}, {2560, 256}, {3072, 64},  {3840, 256}};
        for (const auto& [begin, size] : blocks) {
          expect_object(*heap, begin + prefix, 1);
          expect_object(*heap, begin + prefix, size - prefix);
          expect_object(*heap, begin + size - 1, 1);
          expect_damaged(heap->object(managed(begin + prefix - 1, 2)), "outside its block");
          expect_damaged(heap->object(managed(begin + size - 1, 2)), "outside its block");
          expect_damaged(heap->object(managed(begin + prefix, 0)), "outside its block");
        }
        expect_damaged(heap->object(managed(4096, 1)), "outside its block");
        expect_damaged(heap->object(managed(0xFFFF, 255)), "outside its block");
      }
}

Result<FractalHeap> read(const Disk& disk, const Heap& heap) {
  static std::vector<std::shared_ptr<MemoryFile>> files;  // the heap reads from them later
  files.push_back(disk.share());
  return FractalHeap::read(*files.back(), disk.superblock, heap.header);
}

TEST(FractalHeap, OfOneBlockAndOfNone) {
  Disk disk;
  Heap made{.rows = 0};
  made.add_to(disk);
  const auto heap = read(disk, made);
  ASSERT_TRUE(heap.ok());
  expect_object(*heap, 40, 24);
  expect_damaged(heap->object(managed(40, 25)), "outside its block");
  made.root = ~0ULL;
  made.put_header(disk);
  const auto empty = read(disk, made);
  ASSERT_TRUE(empty.ok());
  expect_damaged(empty->object(managed(40, 1)), "nowhere");
}

TEST(FractalHeap, BlocksThatWereNeverMade) {
  for (const std::uint64_t row : {0, 3, 4}) {
    Disk disk;
    Heap made{.unmade_row = row};
    made.add_to(disk);
    const auto heap = read(disk, made);
    ASSERT_TRUE(heap.ok());
    const std::uint64_t begin[] = {0, 128, 256, 512, 1024, 2048}, offset = begin[row] + 30;
    expect_damaged(heap->object(managed(offset, 5)), row == 0 ? "nowhere" : "outside its block");
    expect_object(*heap, row == 0 ? 158 : 30, 5);
  }
}

TEST(FractalHeap, HeadersThatCannotBe) {
  const auto with = [](auto change) {
    Disk disk;
    Heap heap;
    heap.add_to(disk);
    change(heap);
    heap.put_header(disk);
    return read(disk, heap);
  };
  EXPECT_TRUE(with([](Heap&) {}).ok());
  expect_damaged(with([](Heap& h) { h.version = 1; }), "its header");
  for (const std::uint64_t n : {0, 3, 96}) {
    expect_damaged(with([n](Heap& h) { h.width = n; }), "its header");
    expect_damaged(with([n](Heap& h) { h.start = n; }), "its header");
    expect_damaged(with([n](Heap& h) { h.most_direct = n; }), "its header");
  }
  expect_damaged(with([](Heap& h) { h.start = 32; }), "its header");
  expect_damaged(with([](Heap& h) { h.start = 512; }), "its header");  // larger than the largest
  expect_damaged(with([](Heap& h) { h.most_direct = 1ULL << 31; }), "its header");
  expect_damaged(with([](Heap& h) { h.most_bits = 7; }), "its header");
  expect_damaged(with([](Heap& h) { h.most_bits = 61; }), "its header");
  expect_damaged(with([](Heap& h) { h.most_managed = 0; }), "its header");
  for (const std::uint64_t n : {0, 3, 65}) expect_damaged(with([n](Heap& h) { h.id_bytes = n; }), "its header");
  expect_damaged(with([](Heap& h) { h.id_bytes = 4, h.most_bits = 24; }), "its header");  // 1 + 3 + 1
  for (const std::uint64_t rows : {11, 62, 0xFFFF})
    expect_damaged(with([=](Heap& h) { h.rows = rows; }), "too many rows");
  expect_damaged(with([](Heap& h) { h.rows = 10; }), "in a file of");  // as many as 16 bits have
  expect_damaged(with([](Heap& h) { h.width = 32768; }), "too many rows");
}

TEST(FractalHeap, WithFilters) {
  Disk disk;
  Heap made{.filter_bytes = 5};
  made.add_to(disk);
  auto heap = read(disk, made);
  ASSERT_FALSE(heap.ok());
  EXPECT_EQ(heap.error().code(), ErrorCode::kUnsupported) << heap.error().what();
  disk.change(made.header, 40, 1);
  expect_damaged(read(disk, made), "checksum");
}

TEST(FractalHeap, BlocksOfOthers) {
  for (const std::uint64_t rows : {0, 6}) {
    Disk one, two;
    Heap made{.rows = rows, .wrong_header = 1};
    made.add_to(one);
    expect_damaged(read(one, made), "no block of its own");
    made.wrong_header = 0, made.wrong_offset = 1;
    made.add_to(two);
    expect_damaged(read(two, made), "no block of its own");
  }
}

TEST(FractalHeap, EachFlippedByteIsFound) {
  Disk sound;
  Heap made;
  made.add_to(sound);
  for (std::uint64_t i = 0; i < 22 + 96 + 24 + 4; ++i) {
    Disk disk = sound;
    disk.change(made.header, i, 1);
    expect_damaged(read(disk, made), "damaged");
  }
  for (std::uint64_t i = 0; i < 64; ++i) {
    Disk disk = sound;
    disk.change(made.direct, i, 1);
    expect_damaged(read(disk, made), "damaged");
  }
  for (std::uint64_t i = 0; i < made.indirect_bytes; ++i) {
    Disk disk = sound;
    disk.change(made.indirect, i, 1);
    expect_damaged(read(disk, made), "damaged");
  }
}

TEST(FractalHeap, BlocksMetTwice) {
  for (const std::uint64_t entry : {1, 9}) {  // a direct block, and an indirect one
    Disk disk;
    Heap made;
    made.add_to(disk);
    Block same = disk.block();
    const auto first = disk.bytes.begin() + static_cast<std::ptrdiff_t>(made.root + 15 + 8 * (entry - 1));
    same.bytes().assign(first, first + 8);
    disk.put(made.root + 15 + 8 * entry, same);
    disk.change(made.root, 0, 0, made.indirect_bytes);
    expect_damaged(read(disk, made), "met twice");
  }
}

/// A tree of one record: where object number `number` lies.
std::uint64_t add_huge_tree(Disk& disk, std::uint64_t at, std::uint64_t size, std::uint64_t number) {
  const std::size_t record = disk.superblock.address_bytes + 2 * disk.superblock.length_bytes;
  const std::uint64_t leaf =
      disk.add(disk.block("BTLF").number(0, 1).number(1, 1).address(at).length(size).length(number).sign());
  return disk.add(disk.block("BTHD")
                      .number(0, 1)
                      .number(1, 1)
                      .number(512, 4)
                      .number(record, 2)
                      .zeros(4)
                      .address(leaf)
                      .number(1, 2)
                      .length(1)
                      .sign());
}

TEST(FractalHeap, HugeObjects) {
  for (const SizesOfNumbers sizes : kAllSizes) {
    if (sizes.address + sizes.length < 7) continue;  // see below
    for (const std::uint64_t size : {1U, 5000U, 128U << 10, (128U << 10) + 1}) {
      Disk disk(sizes.address, sizes.length);
      Heap made{.rows = 0};
      made.add_to(disk);
      disk.bytes.resize(disk.bytes.size() + (129 << 10), std::byte{0x5A});
      made.huge_tree = add_huge_tree(disk, disk.end() - size, size, 3);
      made.put_header(disk);
      const auto heap = read(disk, made);
      ASSERT_TRUE(heap.ok());
      const auto id = [&](std::uint64_t n) { return disk.block().number(0x10, 1).number(n, 6).bytes(); };
      if (size > 128 << 10) {
        expect_damaged(heap->object(id(3)), "absurd size");
      } else {
        auto object = heap->object(id(3));
        ASSERT_TRUE(object.ok()) << object.error().what();
        EXPECT_EQ(*object, std::vector<std::byte>(size, std::byte{0x5A}));
      }
      expect_damaged(heap->object(id(4)), "missing");
      expect_damaged(heap->object(id(3 + (1ULL << 40))), "missing");  // numbers have 6 bytes, whatever lengths have
    }
  }
}

// Where address and length fit into the identifier, they stand there, and the tree is of another kind.
TEST(FractalHeap, HugeObjectsThatIdentifiersLocate) {
  Disk disk(2, 4);
  Heap made{.rows = 0, .huge_tree = 1};
  made.add_to(disk);
  const std::uint64_t at = disk.add(disk.block().text("far away"));
  const auto heap = read(disk, made);
  ASSERT_TRUE(heap.ok());
  auto object = heap->object(disk.block().number(0x10, 1).address(at).length(8).bytes());
  ASSERT_TRUE(object.ok()) << object.error().what();
  EXPECT_EQ(*object, disk.block().text("far away").bytes());
  expect_damaged(heap->object(disk.block().number(0x10, 1).address(at).length(9).bytes()), "in a file of");
  expect_damaged(heap->object(disk.block().number(0x10, 1).address(at).length(~0ULL).bytes()), "absurd size");
}

TEST(FractalHeap, TinyObjects) {
  Disk disk(2, 2);
  Heap made{.rows = 0};
  made.add_to(disk);
  const auto heap = read(disk, made);
  ASSERT_TRUE(heap.ok());
  for (std::uint64_t size = 1; size <= 6; ++size) {
    const auto object = heap->object(disk.block().number(0x20 + size - 1, 1).text("abcdef").bytes());
    ASSERT_TRUE(object.ok());
    EXPECT_EQ(*object, disk.block().text(std::string("abcdef").substr(0, size)).bytes());
  }
  for (const std::uint64_t size : {7, 16})
    expect_damaged(heap->object(disk.block().number(0x20 + size - 1, 1).text("abcdef").bytes()),
                   "outside its identifier");
}

TEST(FractalHeap, IdentifiersOfNoKind) {
  Disk disk;
  Heap made;
  made.add_to(disk);
  const auto heap = read(disk, made);
  ASSERT_TRUE(heap.ok());
  for (const unsigned kind : {0x01U, 0x11U, 0x30U, 0x40U, 0x80U, 0xE0U, 0xFFU})
    expect_damaged(heap->object(disk.block().number(kind, 1).number(40, 2).number(1, 1).zeros(3).bytes()), "damaged");
  expect_damaged(heap->object(disk.block().number(0, 1).number(40, 2).bytes()), "damaged");  // cut short
}

}  // namespace
}  // namespace headrace::hdf5
