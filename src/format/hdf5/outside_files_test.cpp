// External raw files, virtual datasets, links out of the file: read where they are safe, refused where they are not.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "format/hdf5/hdf5_reader.h"
#include "format/hdf5/hdf5_testing.h"
#include "storage/file_system.h"
#include "storage/testing/file_doubles.h"

namespace headrace::hdf5 {
namespace {

class Outside : public ::testing::Test {
 protected:
  TemporaryFolder folder_, elsewhere_;
  const std::string path_ = folder_.path("f.h5");
  const std::vector<std::int32_t> data_ = counted<std::int32_t>(24);

  std::span<const std::byte> raw() const { return std::as_bytes(std::span(data_)); }
  std::string reason() {
    const auto file = must_open(path_);
    auto array = file->open_array("x");
    if (array.ok()) return "";
    EXPECT_EQ(array.error().code(), ErrorCode::kUnsupported);
    EXPECT_EQ(array.error().field(), "x");
    return array.error().message();
  }
  void external(const std::vector<std::pair<std::string, hsize_t>>& files) {
    NewFile file(path_);
    const Id list(H5Pcreate(H5P_DATASET_CREATE));
    for (const auto& [name, bytes] : files) H5Pset_external(list.get(), name.c_str(), 0, bytes);
    file.add("x", H5T_STD_I32LE, {6, 4}, nullptr, list.get());
  }
  /// x = rows 0-3 from a.h5, rows 4-7 from b.h5, 3 columns.
  void virtual_of(const std::string& a, const std::string& b, bool as_slab = false) {
    NewFile file(path_, 0, H5F_LIBVER_V110);
    const Id list(H5Pcreate(H5P_DATASET_CREATE));
    const Shape all{8, 3}, half{4, 3}, lower{4, 0};
    const Id space(H5Screate_simple(2, all.data(), nullptr)), source(H5Screate_simple(2, half.data(), nullptr));
    const Shape zero{0, 0};
    if (as_slab) H5Sselect_hyperslab(source.get(), H5S_SELECT_SET, zero.data(), nullptr, half.data(), nullptr);
    for (int i = 0; i < 2; ++i) {
      H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, i == 0 ? zero.data() : lower.data(), nullptr, half.data(),
                          nullptr);
      H5Pset_virtual(list.get(), space.get(), i == 0 ? a.c_str() : b.c_str(), "y", source.get());
    }
    file.add("x", H5T_STD_I32LE, all, nullptr, list.get());
  }
  void source(const std::string& path, std::int32_t first, hsize_t rows = 4) {
    const auto values = counted<std::int32_t>(rows * 3, [&](std::size_t i) { return first + static_cast<int>(i); });
    NewFile file(path);
    const Id list = chunks_of({2, 3});
    H5Pset_deflate(list.get(), 1);
    file.add("y", H5T_STD_I32LE, {rows, 3}, values.data(), list.get());
  }
};

TEST_F(Outside, ExternalFilesBesideTheFileAreRead) {
  folder_.write("a.bin", raw().first(40));
  folder_.write("b.bin", raw().subspan(40));
  external({{"a.bin", 40}, {"b.bin", H5F_UNLIMITED}});
  const auto file = must_open(path_);
  EXPECT_EQ(file->arrays()[0].layout, Layout::kExternal);
  EXPECT_EQ(file->arrays()[0].read_path, ReadPath::kNative);
  EXPECT_EQ(values_of<std::int32_t>(path_, "x"), data_);
  auto rows = read_rows(*must_open_array(*file, "x"), {2, 2});  // across the two files
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(std::memcmp(rows->data(), data_.data() + 8, 32), 0);
}

TEST_F(Outside, MissingOrShortExternalFilesAreRefused) {
  external({{"a.bin", 96}});
  EXPECT_NE(reason().find("cannot find 'a.bin'"), std::string::npos);
  folder_.write("a.bin", raw().first(95));
  EXPECT_NE(reason().find("has 95 bytes"), std::string::npos);
  folder_.write("a.bin", raw());
  EXPECT_EQ(reason(), "");
}

TEST_F(Outside, ExternalFilesElsewhereAreRefused) {
  const std::string secret = elsewhere_.write("secret", raw());
  external({{secret, 96}});
  EXPECT_NE(reason().find("outside"), std::string::npos);
  external({{"../" + std::filesystem::path(secret).parent_path().filename().string() + "/secret", 96}});
  EXPECT_NE(reason().find("outside"), std::string::npos);
  std::filesystem::create_symlink(secret, folder_.path("innocent"));
  external({{"innocent", 96}});
  EXPECT_NE(reason().find("outside"), std::string::npos);
}

TEST_F(Outside, VirtualDatasetsReadTheirSources) {
  source(folder_.path("a.h5"), 0);
  source(folder_.path("b.h5"), 100);
  auto expected = counted<std::int32_t>(12);
  for (int i = 0; i < 12; ++i) expected.push_back(100 + i);
  for (const bool as_slab : {false, true}) {
    virtual_of("a.h5", "b.h5", as_slab);
    EXPECT_EQ(must_open(path_)->arrays()[0].layout, Layout::kVirtual);
    EXPECT_EQ(values_of<std::int32_t>(path_, "x"), expected);
  }
}

TEST_F(Outside, MissingVirtualSourcesAreRefusedNotFilled) {
  source(folder_.path("a.h5"), 0);
  virtual_of("a.h5", "b.h5");
  EXPECT_NE(reason().find("cannot find 'b.h5'"), std::string::npos);
  source(folder_.path("b.h5"), 100, 3);  // one row short
  EXPECT_NE(reason().find("has 9 elements, 12 are mapped"), std::string::npos);
  virtual_of("a.h5", "b.h5", true);
  EXPECT_NE(reason().find("has 3 entries along axis 0, 4 are mapped"), std::string::npos);
  source(elsewhere_.path("b.h5"), 100);
  virtual_of("a.h5", elsewhere_.path("b.h5"));
  EXPECT_NE(reason().find("outside"), std::string::npos);
}

TEST_F(Outside, AVirtualSourceThatVanishesIsNoticed) {
  source(folder_.path("a.h5"), 0);
  source(folder_.path("b.h5"), 100);
  virtual_of("a.h5", "b.h5");
  const auto file = must_open(path_);
  const auto array = must_open_array(*file, "x");
  std::filesystem::remove(folder_.path("b.h5"));
  auto rows = read_rows(*array, {0, 8});
  ASSERT_FALSE(rows.ok());
  EXPECT_EQ(rows.error().code(), ErrorCode::kFileChanged);
}

TEST_F(Outside, OtherFilesAreNamedWithTheirVersions) {
  const auto fingerprint = [](const std::string& path) { return (*FileSystem::of(path).open(path))->fingerprint(); };
  const auto expect_others = [&](const std::vector<std::string>& paths) {
    const std::vector<OutsideFile> others = must_open_array(*must_open(path_), "x")->other_files();
    ASSERT_EQ(others.size(), paths.size());
    for (std::size_t i = 0; i < paths.size(); ++i) {
      EXPECT_EQ(others[i].path, std::filesystem::canonical(paths[i]));
      EXPECT_EQ(others[i].fingerprint, fingerprint(paths[i]));
    }
  };
  const std::string first = folder_.write("a.bin", raw()), second = folder_.write("b.bin", raw().first(40));
  external({{"a.bin", 20}, {"b.bin", 20}, {"a.bin", H5F_UNLIMITED}});
  expect_others({first, second});
  source(folder_.path("a.h5"), 0);
  source(folder_.path("b.h5"), 100);
  virtual_of("a.h5", "b.h5");
  expect_others({folder_.path("a.h5"), folder_.path("b.h5")});
  source(path_, 0);
  EXPECT_TRUE(must_open_array(*must_open(path_), "y")->other_files().empty());
}

// libhdf5 would answer it with the fill value, for it opens no other file.
TEST_F(Outside, ASourceOfOneValueThatIsVirtualItselfIsRefused) {
  const std::int32_t value = 43, fill = 7;
  {
    NewFile file(folder_.path("deep.h5"));
    const Id scalar(H5Screate(H5S_SCALAR));
    const Id dataset(H5Dcreate2(file.id(), "one", H5T_STD_I32LE, scalar.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    ASSERT_GE(H5Dwrite(dataset.get(), H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value), 0);
  }
  const Shape rows{3};
  const auto map_one = [&](NewFile& file, const char* name, bool is_scalar, const char* from, const char* what) {
    const Id list(H5Pcreate(H5P_DATASET_CREATE)), scalar(H5Screate(H5S_SCALAR));
    H5Pset_fill_value(list.get(), H5T_NATIVE_INT32, &fill);
    const Id space(is_scalar ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, rows.data(), nullptr));
    const hsize_t first = 1, one = 1;
    const Id into(H5Scopy(space.get()));
    if (!is_scalar) H5Sselect_hyperslab(into.get(), H5S_SELECT_SET, &first, nullptr, &one, nullptr);
    ASSERT_GE(H5Pset_virtual(list.get(), into.get(), from, what, scalar.get()), 0);
    const Id made(H5Dcreate2(file.id(), name, H5T_STD_I32LE, space.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT));
    ASSERT_TRUE(made.ok());
  };
  {
    NewFile file(folder_.path("middle.h5"), 0, H5F_LIBVER_V110);
    map_one(file, "v", true, "deep.h5", "one");
  }
  {
    NewFile file(path_, 0, H5F_LIBVER_V110);
    map_one(file, "x", false, "middle.h5", "v");
  }
  EXPECT_NE(reason().find("'v' of 'middle.h5' is a single value that lies in another dataset"), std::string::npos);
  {
    NewFile file(path_, 0, H5F_LIBVER_V110);
    map_one(file, "x", false, "deep.h5", "one");
  }
  EXPECT_EQ(values_of<std::int32_t>(path_, "x"), (std::vector<std::int32_t>{7, 43, 7}));
}

// libhdf5 1.10 would copy it from behind its end, or from the null pointer.
TEST_F(Outside, ASourceOfOneValueThatIsCutShortIsRefused) {
  const std::int32_t value = 0x11223344;
  const std::string source = folder_.path("one.h5");
  const Id scalar(H5Screate(H5S_SCALAR)), compact(H5Pcreate(H5P_DATASET_CREATE));
  H5Pset_layout(compact.get(), H5D_COMPACT);
  {
    NewFile file(source);
    const Id dataset(
        H5Dcreate2(file.id(), "one", H5T_STD_I32LE, scalar.get(), H5P_DEFAULT, compact.get(), H5P_DEFAULT));
    ASSERT_GE(H5Dwrite(dataset.get(), H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value), 0);
  }
  {
    NewFile file(path_, 0, H5F_LIBVER_V110);
    const Shape rows{1};
    const Id list(H5Pcreate(H5P_DATASET_CREATE)), space(H5Screate_simple(1, rows.data(), nullptr));
    ASSERT_GE(H5Pset_virtual(list.get(), space.get(), "one.h5", "one", scalar.get()), 0);
    ASSERT_TRUE(file.add("x", H5T_STD_I32LE, rows, nullptr, list.get()).ok());
  }
  EXPECT_EQ(values_of<std::int32_t>(path_, "x"), std::vector<std::int32_t>{value});
  std::vector<std::byte> bytes = bytes_of_file(source);
  const std::vector<std::byte> stored{std::byte{3}, {}, std::byte{4}, {}, std::byte{0x44}};  // of the layout message
  const auto at = std::search(bytes.begin(), bytes.end(), stored.begin(), stored.end());
  ASSERT_NE(at, bytes.end());
  for (const int size : {3, 0}) {
    at[2] = static_cast<std::byte>(size);
    folder_.write("one.h5", bytes);
    const std::string why = H5_VERSION_GE(1, 12, 0)
                                ? "cannot open the dataset"  // which refuses it by itself
                                : fmt::format("a single value of 4 bytes, of which {} are stored", size);
    EXPECT_NE(reason().find(why), std::string::npos) << reason();
  }
}

/// x = all rows of so many datasets, which lie in the same group.
void write_many_sources(NewFile& file, const std::string& source_file, hsize_t datasets) {
  const Id list(H5Pcreate(H5P_DATASET_CREATE));
  const Shape all{datasets * 2}, part{2};
  const Id space(H5Screate_simple(1, all.data(), nullptr)), source(H5Screate_simple(1, part.data(), nullptr));
  for (hsize_t i = 0; i < datasets; ++i) {
    const auto value = static_cast<std::int32_t>(i);
    const std::int32_t values[] = {value, -value};
    const std::string name = "group/y" + std::to_string(i);
    file.add(name, H5T_STD_I32LE, part, values);
    const hsize_t start = i * 2;
    H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &start, nullptr, part.data(), nullptr);
    EXPECT_GE(H5Pset_virtual(list.get(), space.get(), source_file.c_str(), name.c_str(), source.get()), 0);
  }
  file.add("x", H5T_STD_I32LE, all, nullptr, list.get());
}

TEST_F(Outside, AFileThatNamesItselfIsNoOtherFile) {
  {
    NewFile file(path_, 0, H5F_LIBVER_V110);
    write_many_sources(file, "f.h5", 3);
  }
  const auto array = must_open_array(*must_open(path_), "x");
  EXPECT_TRUE(array->other_files().empty());
  EXPECT_EQ(values_of<std::int32_t>(path_, "x"), (std::vector<std::int32_t>{0, 0, 1, -1, 2, -2}));
}

// Groups are checked once, not once for each dataset in them, which would be quadratic.
TEST_F(Outside, ReadsOfOpeningSourcesGrowNoFasterThanTheirNumber) {
  const auto reads = [&](hsize_t datasets) {
    {
      NewFile file(path_, 0, H5F_LIBVER_V110);
      write_many_sources(file, ".", datasets);
    }
    const auto file = std::make_shared<CountingFile>(*FileSystem::of(path_).open(path_));
    const auto reader = open_hdf5(file, path_);
    EXPECT_TRUE(reader.ok());
    const std::uint64_t before = file->num_reads();
    EXPECT_TRUE((*reader)->open_array("x").ok());
    return file->num_reads() - before;
  };
  EXPECT_LT(reads(400), 5 * reads(100));
}

TEST_F(Outside, LinksIntoOtherFilesAreNotFollowed) {
  source(folder_.path("a.h5"), 0);
  {
    NewFile file(path_);
    H5Lcreate_external("a.h5", "/y", file.id(), "x", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("a.h5", "/", file.id(), "g", H5P_DEFAULT, H5P_DEFAULT);
    file.add("own", H5T_STD_I32LE, {24}, data_.data());
  }
  EXPECT_NE(reason().find("a link into another file"), std::string::npos);
  const auto file = must_open(path_);
  EXPECT_EQ(file->arrays().size(), 1U);
  EXPECT_EQ(file->open_array("g/y").error().code(), ErrorCode::kFieldMissing);
}

}  // namespace
}  // namespace headrace::hdf5
