#include "format/hdf5/structure/tree2.h"

#include <gtest/gtest.h>

#include <numeric>

#include "format/hdf5/hdf5_testing.h"
#include "format/hdf5/structure/metadata_testing.h"
#include "format/hdf5/structure/object_header.h"

namespace headrace::hdf5 {
namespace {

/// A tree with as many records in each node as asked for. Records are numbers, in order.
struct Tree {
  unsigned address_bytes = 8, length_bytes = 8;
  std::uint64_t type = 10, node_bytes = 512, record_bytes = 8;
  // Widths in nodes of so many levels, as counted by hand: of the records of a child, and of those below it.
  std::size_t count_bytes = 1;
  std::vector<std::size_t> below_bytes = {0, 0, 2, 2};
  std::uint64_t depth = 0, leaf_records = 3, inner_records = 2;
  // What is said wrongly, added to what would be right.
  unsigned header_count = 0, root_count = 0, below_count = 0, node_type = 0;
  bool child_of_itself = false, same_child = false;

  struct Node {
    std::uint64_t at, records, below;
  };
  std::uint64_t next = 0;
  std::uint64_t header = 0, root = 0, root_bytes = 0;

  Node add(Disk& disk, std::uint64_t levels) {
    const std::uint64_t records = levels == 0 ? leaf_records : inner_records;
    std::vector<Node> children;
    std::vector<std::uint64_t> own;
    for (std::uint64_t i = 0; i <= records; ++i) {
      if (levels > 0) children.push_back(same_child && i > 0 ? children[0] : add(disk, levels - 1));
      if (i < records) own.push_back(next++);
    }
    Node node{disk.end(), records, records};
    Block block = disk.block(levels == 0 ? "BTLF" : "BTIN");
    block.number(0, 1).number(type + node_type, 1);
    for (const std::uint64_t r : own) block.number(r, record_bytes);
    for (const Node& child : children) {
      block.address(child_of_itself ? node.at : child.at).number(child.records, count_bytes);
      if (levels > 1) block.number(child.below + below_count, below_bytes[levels]);
      node.below += child.below;
    }
    block.sign();
    root = node.at, root_bytes = block.bytes().size();
    disk.add(block);
    return node;
  }

  Disk disk() {
    Disk made(address_bytes, length_bytes);
    const Node top = add(made, depth);
    header = made.add(made.block("BTHD")
                          .number(0, 1)
                          .number(type, 1)
                          .number(node_bytes, 4)
                          .number(record_bytes, 2)
                          .number(depth, 2)
                          .number(0x2864, 2)
                          .address(top.at)
                          .number(top.records + root_count, 2)
                          .length(top.below + header_count)
                          .sign());
    return made;
  }
};

Result<std::vector<std::uint64_t>> read(const Disk& disk, const Tree& tree, std::uint64_t most = ~0ULL) {
  std::vector<std::uint64_t> values;
  HEADRACE_TRY(read_tree2(disk.file(), disk.superblock, tree.header, {10, tree.record_bytes}, most,
                          [&](std::span<const std::byte> record) {
                            values.push_back(ByteCursor(record).number(std::min<std::size_t>(8, record.size())));
                            return Status();
                          }));
  return values;
}

void expect_all(Tree tree) {
  const Disk disk = tree.disk();
  auto values = read(disk, tree);
  ASSERT_TRUE(values.ok()) << values.error().what();
  std::vector<std::uint64_t> expected(tree.next);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(*values, expected);
}

Result<std::vector<std::uint64_t>> read(Tree tree) {
  const Disk disk = tree.disk();
  return read(disk, tree);
}

TEST(Tree2, EveryDepthInOrder) {
  for (std::uint64_t depth = 0; depth <= 3; ++depth)
    for (const SizesOfNumbers sizes : kAllSizes) {
      // With 8-byte addresses: 62 records in a leaf, 29 above it and 1889 in all, then 25 and 49139. Narrower addresses
      // leave room for more, and the numbers of the third level need three bytes.
      Tree tree;
      tree.address_bytes = sizes.address, tree.length_bytes = sizes.length, tree.depth = depth;
      if (sizes.address < 8) tree.below_bytes[3] = 3;
      expect_all(tree);
    }
}

TEST(Tree2, CountsOfTwoAndThreeBytes) {
  Tree tree;  // 291 records in a leaf; 125 above it, so 36791 and then 4.6 million in all
  tree.node_bytes = 2048, tree.record_bytes = 7, tree.count_bytes = 2, tree.below_bytes = {0, 0, 2, 3}, tree.depth = 3;
  expect_all(tree);
}

TEST(Tree2, FullNodes) {
  Tree tree;
  tree.leaf_records = 62;
  expect_all(tree);
  tree.leaf_records = 63;
  expect_damaged(read(tree), "63 records in a node of at most 62");
  tree.leaf_records = 3, tree.inner_records = 29, tree.depth = 1;
  expect_all(tree);
  tree.inner_records = 30;
  expect_damaged(read(tree), "30 records in a node of at most 29");
}

TEST(Tree2, OfNothing) {
  Tree tree;
  for (const unsigned records : {0U, 1U}) {
    Disk disk;
    tree.header = disk.add(disk.block("BTHD")
                               .number(0, 1)
                               .number(10, 1)
                               .number(512, 4)
                               .number(8, 2)
                               .zeros(4)
                               .address(~0ULL)
                               .number(0, 2)
                               .length(records)
                               .sign());
    if (records == 0) {
      ASSERT_TRUE(read(disk, tree).ok());
      EXPECT_TRUE(read(disk, tree)->empty());
    } else {
      expect_damaged(read(disk, tree), "no root");
    }
  }
}

TEST(Tree2, CountsThatDisagree) {
  Tree tree;
  tree.depth = 2;
  tree.header_count = 1;
  expect_damaged(read(tree), "35 records where its header says 36");
  tree.header_count = 0, tree.root_count = 1;
  expect_damaged(read(tree), "checksum");  // a longer root, which ends elsewhere
  tree.root_count = 0, tree.below_count = 1;
  expect_damaged(read(tree), "records below a child");
}

TEST(Tree2, MoreRecordsThanAllowed) {
  Tree tree;
  tree.depth = 1;
  const Disk disk = tree.disk();
  EXPECT_TRUE(read(disk, tree, 11).ok());
  expect_damaged(read(disk, tree, 10), "11 records");
}

TEST(Tree2, NodesMetTwice) {
  Tree tree;
  tree.depth = 1;
  tree.same_child = true;
  expect_damaged(read(tree), "met twice");
  tree.same_child = false, tree.child_of_itself = true;
  expect_damaged(read(tree), "met twice");
}

TEST(Tree2, AnotherKind) {
  Tree tree;
  tree.node_type = 1;
  expect_damaged(read(tree), "records of type 11");
  tree.node_type = 0, tree.type = 11;
  expect_damaged(read(tree), "expected are type 10");
  tree.type = 10;
  const Disk disk = tree.disk();
  tree.record_bytes = 9;
  expect_damaged(read(disk, tree), "expected are type 10 and 9 bytes");
}

TEST(Tree2, AbsurdSizes) {
  const auto with = [](std::uint64_t node_bytes, std::uint64_t record_bytes, std::uint64_t depth) {
    Disk disk;
    disk.bytes.resize(4096);
    Tree tree;
    tree.record_bytes = record_bytes;
    tree.header = disk.add(disk.block("BTHD")
                               .number(0, 1)
                               .number(10, 1)
                               .number(node_bytes, 4)
                               .number(record_bytes, 2)
                               .number(depth, 2)
                               .zeros(2)
                               .address(64)
                               .number(1, 2)
                               .length(1)
                               .sign());
    return read(disk, tree);
  };
  expect_damaged(with(512, 8, 0), "no BTLF");  // all is well with the header
  expect_damaged(with(26, 8, 0), "no BTLF");
  expect_damaged(with(25, 8, 0), "nodes of 25 bytes");
  expect_damaged(with(0, 8, 0), "nodes of 0 bytes");
  expect_damaged(with(53, 8, 1), "no BTIN");
  expect_damaged(with(52, 8, 1), "nodes of 52 bytes, 1 levels");
  expect_damaged(with(1 << 20, 24, 0), "no BTLF");
  expect_damaged(with((1 << 20) + 1, 24, 0), "nodes of 1048577 bytes");
  expect_damaged(with(0xFFFFFFFF, 8, 0), "nodes of 4294967295 bytes");
  expect_damaged(with(10 + 8 * 0xFFFF, 8, 0), "no BTLF");
  expect_damaged(with(10 + 8 * 0x10000, 8, 0), "nodes of 65536 records");  // a count of them takes 2 bytes
  expect_damaged(with(512, 8, 33), "33 levels deep");
  expect_damaged(with(2048, 8, 32), "32 levels");  // so many records that their number overflows
}

// Nodes that lie in each other would have more records than the file has bytes for.
TEST(Tree2, RecordsShareNoBytes) {
  Tree tree;
  Disk small;
  tree.header = small.add(small.block("BTHD")
                              .number(0, 1)
                              .number(10, 1)
                              .number(512, 4)
                              .number(8, 2)
                              .number(1, 2)
                              .zeros(2)
                              .address(64)
                              .number(1, 2)
                              .length(14)
                              .sign());
  EXPECT_EQ(small.bytes.size(), 102U);  // 12 records at most
  expect_damaged(read(small, tree), "14 records");
}

TEST(Tree2, EachFlippedByteOfItsNodesIsFound) {
  Tree tree;
  const Disk sound = tree.disk();
  for (std::uint64_t i = 0; i < tree.root_bytes; ++i) {
    Disk disk = sound;
    disk.change(tree.root, i, 1);
    expect_damaged(read(disk, tree), i < 4 ? "no BTLF" : "checksum");
  }
  Disk disk = sound;
  disk.change(tree.root, 4, 1, tree.root_bytes);
  expect_damaged(read(disk, tree), "a node with records of type 10");  // of version 1
  disk = sound;
  disk.change(tree.header, 4, 1, 16 + 8 + 2 + 8 + 4);
  expect_damaged(read(disk, tree), "the B-tree is damaged");
}

TEST(Tree2, NodesOutsideTheFile) {
  Tree tree;
  Disk disk = tree.disk();
  disk.change(tree.header, 16 + 7, 0x70, 16 + 8 + 2 + 8 + 4);  // the highest byte of the root's address
  expect_damaged(read(disk, tree), "in a file of");
  disk = tree.disk();
  disk.bytes.pop_back();
  expect_damaged(read(disk, tree), "in a file of");
}

TEST(Tree2, WhatTakesRecordsMayEndIt) {
  Tree tree;
  const Disk disk = tree.disk();
  int taken = 0;
  auto status = read_tree2(disk.file(), disk.superblock, tree.header, {10, 8}, 99, [&](std::span<const std::byte>) {
    return ++taken == 2 ? Status(Error(ErrorCode::kInvalidArgument, "enough")) : Status();
  });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(taken, 2);
}

// The root of this one has internal nodes below it, whose entries have one number more.
TEST(Tree2, OfThreeLevelsAsLibhdf5WritesThem) {
  TemporaryFolder folder;
  const std::string path = folder.path("f.h5");
  constexpr std::size_t kChunks = 9000;
  {
    NewFile file(path, 0, H5F_LIBVER_LATEST);
    const auto values = counted<std::int8_t>(kChunks);
    file.add("x", H5T_STD_I8LE, {kChunks, 1}, values.data(), chunks_of({1, 1}).get(), {H5S_UNLIMITED, H5S_UNLIMITED});
  }
  const MemoryFile file("f.h5", bytes_of_file(path));
  const std::string_view all(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  const std::size_t at = all.find("BTHD");
  ASSERT_NE(at, std::string_view::npos);
  ASSERT_EQ(all[at + 12], 2) << "levels below the root";
  std::size_t records = 0;
  const Status status = read_tree2(file, Superblock(), at, {10, 24}, kChunks, [&](std::span<const std::byte> record) {
    EXPECT_EQ(ByteCursor(record.subspan(8)).number(8), records++);  // along the first axis
    return Status();
  });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(records, kChunks);
}

}  // namespace
}  // namespace headrace::hdf5
