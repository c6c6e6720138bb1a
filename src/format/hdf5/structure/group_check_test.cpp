#include "format/hdf5/structure/group_check.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "format/hdf5/hdf5_testing.h"
#include "format/hdf5/structure/metadata_testing.h"

namespace headrace::hdf5 {
namespace {

/// What the root group of a file is to be.
struct RootGroup {
  H5F_libver_t low = H5F_LIBVER_LATEST;
  std::size_t address_bytes = 8, length_bytes = 8;
  bool ordered = false, filtered = false;
  std::vector<std::string> links = {};
};

std::vector<std::byte> file_with(const RootGroup& root) {
  const TemporaryFolder folder;
  const std::string path = folder.path("f.h5");
  const Id creation(H5Pcreate(H5P_FILE_CREATE)), access(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_sizes(creation.get(), root.address_bytes, root.length_bytes);
  H5Pset_libver_bounds(access.get(), root.low, H5F_LIBVER_LATEST);
  if (root.low != H5F_LIBVER_EARLIEST) H5Pset_link_phase_change(creation.get(), 0, 0);  // all in a heap
  if (root.ordered) H5Pset_link_creation_order(creation.get(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
  if (root.filtered) {
    EXPECT_GE(H5Pset_deflate(creation.get(), 4), 0);
  }
  {
    const Id file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()));
    EXPECT_TRUE(file.ok());
    for (const std::string& link : root.links) {
      EXPECT_GE(H5Lcreate_soft(link.c_str(), file.get(), link.c_str(), H5P_DEFAULT, H5P_DEFAULT), 0) << link;
    }
    if (!root.links.empty()) {
      EXPECT_GE(H5Lcreate_hard(file.get(), "/", file.get(), "/h", H5P_DEFAULT, H5P_DEFAULT), 0);
    }
  }
  return bytes_of_file(path);
}

Status check(const std::vector<std::byte>& bytes) {
  const MemoryFile file("f.h5", bytes);
  HEADRACE_ASSIGN(const auto superblock, read_superblock(file));
  HEADRACE_ASSIGN(const auto messages, read_object_header(file, *superblock, superblock->root_address));
  HEADRACE_TRY(check_root(file, *superblock));
  return check_group(file, *superblock, messages);
}

std::vector<std::string> names(std::size_t count, std::size_t length) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i)
    all.push_back("n" + std::to_string(i) + std::string(length == 0 ? 0 : i % length, 'x'));
  return all;
}

void expect_sound(const RootGroup& root) {
  Status status = check(file_with(root));
  EXPECT_TRUE(status.ok()) << root.address_bytes << "+" << root.length_bytes << ": " << status.error().what();
}

TEST(GroupCheck, SoundGroups) {
  for (const H5F_libver_t low : {H5F_LIBVER_EARLIEST, H5F_LIBVER_V18, H5F_LIBVER_LATEST})
    for (const bool ordered : {false, true}) {
      if (ordered && low == H5F_LIBVER_EARLIEST) continue;
      expect_sound({.low = low, .ordered = ordered});
      expect_sound({.low = low, .ordered = ordered, .links = names(3000, 300)});
      for (const SizesOfNumbers sizes : kAllSizes) {
        if (sizes.length == 2 && low != H5F_LIBVER_EARLIEST) continue;  // too short for the sizes of libhdf5's heaps
        expect_sound({low, sizes.address, sizes.length, ordered, false, names(40, 30)});
      }
    }
}

// Links too long for a block of the heap, and, where addresses are short, links that fit into their identifiers.
TEST(GroupCheck, HugeAndTinyLinks) {
  for (const SizesOfNumbers sizes : {SizesOfNumbers{8, 8}, {4, 4}, {2, 8}, {2, 4}})
    expect_sound(
        {.address_bytes = sizes.address, .length_bytes = sizes.length, .links = {"a", std::string(6000, 'y')}});
}

TEST(GroupCheck, FiltersOfLinks) {
  Status status = check(file_with({.filtered = true, .links = names(100, 50)}));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::kUnsupported);
  EXPECT_NE(std::string(status.error().what()).find("a heap with filters"), std::string::npos);
}

/// A file of an old group, and where its pieces are.
struct OldGroup {
  std::vector<std::byte> bytes = file_with({.low = H5F_LIBVER_EARLIEST, .links = {"one", "two"}});
  std::size_t tree = find("TREE"), table = find("SNOD"), heap = find("HEAP");
  std::size_t data = static_cast<std::size_t>(number(heap + 24)),
              data_bytes = static_cast<std::size_t>(number(heap + 8));

  [[nodiscard]] std::size_t find(std::string_view what) const {
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).find(what);
  }
  [[nodiscard]] std::uint64_t number(std::size_t at) const {
    return ByteCursor(std::span(bytes).subspan(at, 8)).number(8);
  }
  void put(std::size_t at, std::uint64_t value, std::size_t size = 8) {
    if (at + size > bytes.size()) bytes.resize(at + size);
    for (std::size_t i = 0; i < size; ++i) bytes[at + i] = static_cast<std::byte>(value >> 8 * i);
  }
};

TEST(GroupCheck, NamesOutsideTheHeap) {
  const std::size_t first = 8, entry = 40;  // of the table of names: one hard link, then soft ones
  for (const bool last : {false, true}) {
    OldGroup group;
    ASSERT_TRUE(check(group.bytes).ok());
    group.bytes[group.data + group.data_bytes - 1] = std::byte{'x'};
    group.put(group.table + first + (last ? 2 * entry : 0), group.data_bytes - 1);  // a text that does not end
    expect_damaged(check(group.bytes), "a name lies outside the heap");
    group.put(group.table + first + (last ? 2 * entry : 0), group.data_bytes);
    expect_damaged(check(group.bytes), "a name lies outside the heap");
  }
  OldGroup group;
  group.put(group.table + first + 2 * entry + 24, group.data_bytes, 4);  // where a soft link leads
  expect_damaged(check(group.bytes), "a name lies outside the heap");
}

// libhdf5 compares the name that it looks for with the keys of the tree, wherever they end.
TEST(GroupCheck, KeysOutsideTheHeap) {
  for (const std::size_t at : {24, 40}) {  // before the only child, and behind it
    OldGroup group;
    group.put(group.tree + at, group.data_bytes);
    expect_damaged(check(group.bytes), "a key of its tree");
    group.bytes[group.data + group.data_bytes - 1] = std::byte{'x'};
    group.put(group.tree + at, group.data_bytes - 1);
    expect_damaged(check(group.bytes), "a key of its tree");
  }
}

TEST(GroupCheck, NodesOfTheTree) {
  const auto with = [](auto change) {
    OldGroup group;
    change(group);
    return check(group.bytes);
  };
  EXPECT_TRUE(with([](OldGroup& g) { g.put(g.tree + 6, 0, 2); }).ok());  // without children
  expect_damaged(with([](OldGroup& g) { g.put(g.tree, 0, 1); }), "no node of its tree");
  expect_damaged(with([](OldGroup& g) { g.put(g.tree + 4, 1, 1); }), "no node of its tree");  // of chunks
  expect_damaged(with([](OldGroup& g) { g.put(g.tree + 5, 1, 1); }), "no node of its tree");  // a table is no node
  const OldGroup sound;  // of so many levels the root itself is refused, of one less what should be the next one
  expect_damaged(with([](OldGroup& g) { g.put(g.tree + 5, 41, 1); }), fmt::format("at {}", sound.tree));
  expect_damaged(with([](OldGroup& g) { g.put(g.tree + 5, 40, 1); }), fmt::format("at {}", sound.table));
  expect_damaged(with([](OldGroup& g) { g.put(g.tree + 5, 1, 1), g.put(g.tree + 32, g.tree); }), "met twice");
  expect_damaged(with([](OldGroup& g) { g.put(g.tree + 6, 2, 2), g.put(g.tree + 48, g.table); }), "met twice");
  expect_damaged(with([](OldGroup& g) { g.put(g.tree + 32, g.tree); }), "met twice");
  expect_damaged(with([](OldGroup& g) { g.put(g.tree + 32, ~0ULL); }), "in a file of");
  expect_damaged(with([](OldGroup& g) { g.put(g.tree + 6, 0xFFFF, 2); }), "in a file of");
  expect_damaged(with([](OldGroup& g) { g.put(g.table, 0, 1); }), "no names at");
  expect_damaged(with([](OldGroup& g) { g.put(g.table + 6, 0xFFFF, 2); }), "in a file of");
}

// libhdf5 would list both, check one and open the other.
TEST(GroupCheck, TwoLinksOfOneName) {
  const std::size_t first = 8, entry = 40;
  OldGroup old;
  old.put(old.table + first + entry, old.number(old.table + first));
  expect_damaged(check(old.bytes), "two of its links are called 'h'");
  OldGroup elsewhere;  // the same text in another place
  for (std::size_t at = elsewhere.find("one"); at < elsewhere.bytes.size(); at = elsewhere.find("one"))
    elsewhere.put(at, elsewhere.number(elsewhere.find("two")) & 0xFFFFFF, 3);
  expect_damaged(check(elsewhere.bytes), "two of its links are called 'two'");

  const auto link = [](std::string_view name) {
    HeaderMessage message{static_cast<std::uint16_t>(MessageType::kLink), 0, {}};
    const Disk disk;
    message.bytes = disk.block().number(1, 1).number(0, 1).number(name.size(), 1).text(name).number(96, 8).bytes();
    return message;
  };
  const MemoryFile file("f.h5", {});
  Superblock superblock;
  superblock.address_bytes = superblock.length_bytes = 8;
  EXPECT_TRUE(check_group(file, superblock, {link("a"), link("b")}).ok());
  expect_damaged(check_group(file, superblock, {link("a"), link("b"), link("a")}), "two of its links are called 'a'");
  const std::string_view longer("a\0b", 3);  // libhdf5 reads it to the zero
  expect_damaged(check_group(file, superblock, {link("a"), link(longer)}), "two of its links are called 'a'");
}

TEST(GroupCheck, TwoLinksOfOneNameInAHeap) {
  std::vector<std::byte> bytes = file_with({.links = {"n0", "n1"}});
  ASSERT_TRUE(check(bytes).ok());
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::span<std::byte> block = std::span(bytes).subspan(all.find("FHDB"), 512);
  for (std::size_t i = 0; i + 1 < block.size(); ++i)
    if (block[i] == std::byte{'n'} && block[i + 1] == std::byte{'1'}) block[i + 1] = std::byte{'0'};
  const std::span<std::byte> sum = block.subspan(17, 4);  // behind signature, version, address and offset
  std::ranges::fill(sum, std::byte{0});
  const std::uint32_t fresh = metadata_checksum(block);
  for (std::size_t i = 0; i < 4; ++i) sum[i] = static_cast<std::byte>(fresh >> 8 * i);
  expect_damaged(check(bytes), "two of its links are called 'n0'");
}

// Many names that share the bytes of a long one: libhdf5 would copy it for each.
TEST(GroupCheck, NamesThatShareBytes) {
  for (const std::size_t count : {1, 100}) {
    OldGroup group;
    const std::size_t data = group.bytes.size(), length = 100'000, table = data + length + 1;
    group.bytes.resize(data + length, std::byte{'x'});
    group.put(data + length, 0, 1);
    group.put(group.heap + 8, length + 1), group.put(group.heap + 16, 1), group.put(group.heap + 24, data);
    group.put(group.tree + 32, table);
    group.put(table, 0x444F4E53, 4), group.put(table + 4, 1, 2), group.put(table + 6, count, 2);
    group.put(table + 8 + 40 * count - 1, 0, 1);
    for (std::size_t i = 0; i < count; ++i) group.put(table + 8 + 40 * i, i);  // each begins a byte later
    if (count == 1) {
      EXPECT_TRUE(check(group.bytes).ok());
    } else {
      expect_damaged(check(group.bytes), "more names than the file has bytes for");
    }
  }
}

// Each byte of a newer group's heap and trees counts: what is found is refused, and nothing is followed out of them.
TEST(GroupCheck, EachFlippedByteOfANewerGroup) {
  const std::vector<std::byte> sound = file_with({.ordered = true, .links = names(9, 3)});
  ASSERT_TRUE(check(sound).ok());
  const std::string_view all(reinterpret_cast<const char*>(sound.data()), sound.size());
  for (const char* signature : {"FRHP", "BTHD", "BTLF"})
    for (std::size_t at = all.find(signature); at != std::string_view::npos; at = all.find(signature, at + 1))
      for (std::size_t i = 0; i < 30; ++i) {
        std::vector<std::byte> bytes = sound;
        bytes[at + i] ^= std::byte{0xFF};
        expect_damaged(check(bytes), "damaged");
      }
}

}  // namespace
}  // namespace headrace::hdf5
