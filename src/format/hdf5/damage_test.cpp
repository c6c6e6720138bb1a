// Damage by hand, of what libhdf5 would follow or believe. Every byte flipped and every length: hdf5_suite_test.cpp.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "format/hdf5/hdf5_reader.h"
#include "format/hdf5/hdf5_testing.h"
#include "storage/testing/memory_file.h"

namespace headrace::hdf5 {
namespace {

using Contents = std::map<std::string, std::vector<std::byte>>;

constexpr std::uint64_t kRowsLimit = 1000;

// Everything that opens and is of sane size; errors other than those of bad data are failures of the test.
Contents read_everything(std::vector<std::byte> bytes, int* errors) {
  const auto judge = [&](const Error& e) {
    ++*errors;
    const bool expected = e.code() == ErrorCode::kCorruptData || e.code() == ErrorCode::kUnsupported ||
                          e.code() == ErrorCode::kFieldMissing || e.code() == ErrorCode::kNotFound;
    EXPECT_TRUE(expected) << e.what();
  };
  Contents out;
  auto file = open_hdf5(std::make_shared<MemoryFile>("memory.h5", std::move(bytes)), "memory.h5");
  if (!file.ok()) return judge(file.error()), out;
  for (const ArrayInfo& info : (*file)->arrays()) {
    auto array = (*file)->open_array(info.path);
    if (!array.ok()) {
      judge(array.error());
      continue;
    }
    if ((*array)->info().row_record_bytes() > (1 << 20) || (*array)->scratch_need(1).out_bytes > (1 << 24)) continue;
    auto rows = read_rows(**array, {0, std::min(kRowsLimit, info.rows())});
    if (!rows.ok()) {
      judge(rows.error());
      continue;
    }
    out[info.path] = std::move(*rows);
  }
  return out;
}

// In files without checksums; libhdf5 would read elements of the one size from chunks of the other, past their end.
TEST(DamageOfLayout, ChunksMadeForElementsOfAnotherSize) {
  const TemporaryFolder folder;
  const std::string path = folder.path("f.h5");
  const auto data = counted<std::int32_t>(24);
  NewFile(path).add("x", H5T_STD_I32LE, {24}, data.data(), chunks_of({7}).get());
  std::vector<std::byte> bytes = bytes_of_file(path);
  const std::vector<std::byte> lengths{std::byte{7}, {}, {}, {}, std::byte{4}, {}, {}, {}};  // of the layout message
  const auto at = std::search(bytes.begin(), bytes.end(), lengths.begin(), lengths.end());
  ASSERT_NE(at, bytes.end());
  at[4] = std::byte{3};
  const auto file = open_hdf5(std::make_shared<MemoryFile>("memory.h5", std::move(bytes)), "memory.h5");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code(), ErrorCode::kCorruptData);
  EXPECT_NE(std::string(file.error().what()).find("elements of 4 bytes in chunks made for 3"), std::string::npos)
      << file.error().what();
}

// libhdf5 1.10 would ask a null pointer for the other file's name.
TEST(DamagedLink, IntoAnotherFileThatHasNoName) {
  const TemporaryFolder folder;
  const std::string path = folder.path("f.h5");
  {
    NewFile file(path);
    const Id list(H5Pcreate(H5P_GROUP_CREATE));
    H5Pset_link_creation_order(list.get(), H5P_CRT_ORDER_TRACKED);  // links are messages then
    const Id group(H5Gcreate2(file.id(), "g", H5P_DEFAULT, list.get(), H5P_DEFAULT));
    H5Lcreate_external("other.h5", "/there", group.get(), "away", H5P_DEFAULT, H5P_DEFAULT);
  }
  std::vector<std::byte> bytes = bytes_of_file(path);
  int errors = 0;
  EXPECT_TRUE(read_everything(bytes, &errors).empty());
  EXPECT_EQ(errors, 0);
  const std::string name = "other.h5";
  const auto at = std::search(bytes.begin(), bytes.end(), name.begin(), name.end(),
                              [](std::byte a, char b) { return std::to_integer<char>(a) == b; });
  ASSERT_NE(at, bytes.end());
  ASSERT_EQ(std::to_integer<std::size_t>(at[-3]), 1 + sizeof "other.h5" + sizeof "/there");
  at[-3] = std::byte{0};  // the value's length, before its flags
  const auto file = open_hdf5(std::make_shared<MemoryFile>("memory.h5", std::move(bytes)), "memory.h5");
  ASSERT_FALSE(file.ok());
  EXPECT_NE(std::string(file.error().what()).find("it leads nowhere"), std::string::npos) << file.error().what();
}

// Inner nodes of the trees of an old group and of chunks that name themselves as their first child: libhdf5 1.10 would
// follow them until the stack ends.
TEST(DamagedTree, ContainsItself) {
  const TemporaryFolder folder;
  const std::string path = folder.path("f.h5");
  {
    const auto data = counted<std::int32_t>(3000);
    NewFile file(path);
    const Id list = chunks_of({4});
    for (int i = 0; i < 600; ++i) {
      const Id group(H5Gcreate2(file.id(), ("g" + std::to_string(i)).c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    }
    file.add("x", H5T_STD_I32LE, {3000}, data.data(), list.get());
  }
  const std::vector<std::byte> good = bytes_of_file(path);
  int errors = 0;
  EXPECT_EQ(read_everything(good, &errors).size(), 1U);
  EXPECT_EQ(errors, 0);
  for (const unsigned char type : {'\0', '\1'}) {  // groups, chunks
    const std::array<unsigned char, 6> inner{'T', 'R', 'E', 'E', type, 1};
    const std::size_t first_child = 24 + (type == 0 ? 8 : 24);
    std::vector<std::byte> bad = good;
    int found = 0;
    for (std::uint64_t i = 0; i + first_child + 8 < bad.size(); ++i) {
      if (std::memcmp(bad.data() + i, inner.data(), inner.size()) != 0) continue;
      std::memcpy(bad.data() + i + first_child, &i, sizeof i);
      ++found;
    }
    EXPECT_GE(found, 1);
    errors = 0;
    EXPECT_TRUE(read_everything(std::move(bad), &errors).empty());
    EXPECT_EQ(errors, 1);
  }
}

// The size of the datatype against that of the chunks' elements: libhdf5 1.10 would convert 40 numbers of 4 bytes as if
// they had 8. Both the fast way and H5Dread.
TEST(DamagedElementSize, IsNoConversion) {
  const TemporaryFolder folder;
  const std::string path = folder.path("f.h5");
  {
    const auto data = counted<float>(40);
    NewFile file(path);
    const Id list = chunks_of({8}), odd(H5Tcopy(H5T_IEEE_F32LE)), named(H5Tcopy(H5T_IEEE_F32LE));
    H5Pset_deflate(list.get(), 4);
    H5Tset_ebias(odd.get(), 126);  // no processor has it: the library converts
    ASSERT_GE(H5Tcommit2(file.id(), "type", named.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), 0);
    file.add("fast", H5T_IEEE_F32LE, {40}, data.data(), list.get());
    file.add("named", named.get(), {40}, data.data(), list.get(), {}, H5T_NATIVE_FLOAT);
    file.add("slow", odd.get(), {40}, data.data(), list.get(), {}, H5T_NATIVE_FLOAT);
  }
  std::vector<std::byte> bytes = bytes_of_file(path);
  int errors = 0;
  EXPECT_EQ(read_everything(bytes, &errors).size(), 3U);
  EXPECT_EQ(errors, 0);
  const std::array<unsigned char, 8> type{0x11, 0x20, 0x1F, 0, 4, 0, 0, 0};  // a float of 4 bytes, version 1
  int found = 0;
  for (std::size_t i = 0; i + type.size() < bytes.size(); ++i)
    if (std::memcmp(bytes.data() + i, type.data(), type.size()) == 0) bytes[i + 4] = std::byte{8}, ++found;
  EXPECT_EQ(found, 3);  // "fast", "slow", "type"
  EXPECT_TRUE(read_everything(bytes, &errors).empty());
  EXPECT_GT(errors, 0);
}

// The mappings of a virtual dataset lie in a global heap. An object of no size would have libhdf5 stand still, one that
// is missing be read from anywhere.
TEST(DamageOfHeap, MappingsOfAVirtualDataset) {
  const TemporaryFolder folder;
  const std::string path = folder.path("f.h5");
  {
    const Id space(H5Screate_simple(1, std::array<hsize_t, 1>{24}.data(), nullptr)),
        list(H5Pcreate(H5P_DATASET_CREATE));
    ASSERT_GE(H5Pset_virtual(list.get(), space.get(), ".", "x", space.get()), 0);
    NewFile file(path, 0, H5F_LIBVER_V110);
    file.add("x", H5T_STD_I32LE, {24}, counted<std::int32_t>(24).data());
    file.add("virtual", H5T_STD_I32LE, {24}, nullptr, list.get());
  }
  const std::vector<std::byte> good = bytes_of_file(path);
  const std::string signature = "GCOL";
  const auto heap = std::search(good.begin(), good.end(), signature.begin(), signature.end(),
                                [](std::byte b, char c) { return b == static_cast<std::byte>(c); });
  ASSERT_NE(heap, good.end());
  const auto object = heap - good.begin() + 16;  // behind the heap's head: index 2 bytes, references 2, 0, size 8
  ASSERT_EQ(good[static_cast<std::size_t>(object)], std::byte{1});
  const auto why = [&](std::ptrdiff_t at, std::vector<int> values) -> std::string {
    std::vector<std::byte> bad = good;
    for (const int value : values) bad[static_cast<std::size_t>(at++)] = static_cast<std::byte>(value);
    const auto file = open_hdf5(std::make_shared<MemoryFile>("memory.h5", std::move(bad)), "memory.h5");
    if (!file.ok()) return file.error().what();
    const auto array = (*file)->open_array("virtual");
    return array.ok() ? "" : array.error().what();
  };
  const auto contains = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_EQ(why(object, {1}), "");
  EXPECT_PRED2(contains, why(object, {0, 0, 0, 0, 0, 0, 0, 0, 0}), "the size of an object");
  EXPECT_PRED2(contains, why(object, {77}), "an object is missing");
  EXPECT_PRED2(contains, why(object + 8 + 3, {1}), "the size of an object");
  EXPECT_PRED2(contains, why(object + 16 + 9, {255}), "an object's checksum");
}

// Groups that remember the order of their links, in old files, whose headers have no checksum.
class DamageOfLinks : public ::testing::Test {
 protected:
  std::vector<std::byte> group_of(int links) {
    const std::string path = folder_.path("f.h5");
    {
      NewFile file(path);
      const Id list(H5Pcreate(H5P_GROUP_CREATE));
      EXPECT_GE(H5Pset_link_creation_order(list.get(), H5P_CRT_ORDER_TRACKED), 0);
      const Id group(H5Gcreate2(file.id(), "group", H5P_DEFAULT, list.get(), H5P_DEFAULT));
      const auto values = counted<std::int32_t>(4);
      for (int i = 0; i < links; ++i) file.add("group/link" + std::to_string(i), H5T_STD_I32LE, {4}, values.data());
      file.add("other", H5T_STD_I32LE, {4}, values.data());
    }
    return bytes_of_file(path);
  }

  static std::vector<std::byte>::iterator find(std::vector<std::byte>& bytes, const std::string& what) {
    return std::search(bytes.begin(), bytes.end(), what.begin(), what.end(),
                       [](std::byte b, char c) { return b == static_cast<std::byte>(c); });
  }

  /// The array beside the group can still be read. \return why the group cannot.
  static std::string why(std::vector<std::byte> bytes) {
    const auto file = open_hdf5(std::make_shared<MemoryFile>("memory.h5", std::move(bytes)), "memory.h5");
    if (!file.ok()) return "the whole file: " + std::string(file.error().what());
    EXPECT_TRUE((*file)->open_array("other").ok());
    const auto array = (*file)->open_array("group");
    return array.ok() ? "" : array.error().what();
  }

  TemporaryFolder folder_;
};

TEST_F(DamageOfLinks, InTheHeader) {
  std::vector<std::byte> bytes = group_of(2);
  const auto name = find(bytes, "link1");
  ASSERT_NE(name, bytes.end());
  std::byte& flags = *(name - 10);  // version, flags, order in 8 bytes, length of the name
  ASSERT_EQ(flags, std::byte{4});
  flags = std::byte{0xFF};
  const std::string found = why(bytes);
  EXPECT_NE(found.find("group: a link is damaged: its version or flags"), std::string::npos) << found;
}

TEST_F(DamageOfLinks, InAHeapWithoutAnIndex) {
  std::vector<std::byte> bytes = group_of(20);
  const auto heap = find(bytes, "FRHP");
  ASSERT_NE(heap, bytes.end());
  const std::uint64_t at = static_cast<std::uint64_t>(heap - bytes.begin());
  std::string address(sizeof at, 0);
  std::memcpy(address.data(), &at, sizeof at);
  const auto message = find(bytes, address);  // the heap's address; behind it that of the index
  ASSERT_NE(message, bytes.end());
  std::fill_n(message + 8, 8, std::byte{0xFF});
  const std::string found = why(bytes);
  EXPECT_NE(found.find("the index of their names has no address"), std::string::npos) << found;
}

}  // namespace
}  // namespace headrace::hdf5
