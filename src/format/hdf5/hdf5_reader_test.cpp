// Opening, walking, names, layouts without chunks.
#include "format/hdf5/hdf5_reader.h"

#include "format/hdf5/hdf5_testing.h"
#include "storage/file_system.h"
#include "storage/testing/file_doubles.h"

namespace headrace::hdf5 {
namespace {

class Reader : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  const std::string path_ = folder_.path("f.h5");
  const std::vector<std::int32_t> data_ = counted<std::int32_t>(12);
};

std::vector<std::string> paths_of(const FormatReader& file) {
  std::vector<std::string> out;
  for (const ArrayInfo& a : file.arrays()) out.push_back(a.path);
  return out;
}

TEST_F(Reader, ListsEveryDatasetOnceWhateverLeadsToIt) {
  {
    NewFile file(path_);
    file.add("b/inner/deep", H5T_STD_I32LE, {12}, data_.data());
    file.add("a", H5T_STD_I32LE, {12}, data_.data());
    H5Lcreate_hard(file.id(), "/b", file.id(), "/b/inner/cycle", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(file.id(), "/a", file.id(), "/z_same_as_a", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/b/inner/deep", file.id(), "soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/b", file.id(), "soft_group", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/nowhere", file.id(), "dangling", H5P_DEFAULT, H5P_DEFAULT);
    const Id scalar(H5Screate(H5S_SCALAR));
    const Id dataset(H5Dcreate2(file.id(), "scalar", H5T_STD_I32LE, scalar.get(), H5P_DEFAULT, H5P_DEFAULT, 0));
  }
  const auto file = must_open(path_);
  EXPECT_EQ(file->format_name(), "HDF5 (superblock 0)");
  EXPECT_EQ(paths_of(*file), (std::vector<std::string>{"a", "b/inner/deep"}));
  for (const char* other : {"soft", "/soft", "z_same_as_a", "soft_group/inner/deep", "b/inner/cycle/inner/deep"}) {
    const auto array = must_open_array(*file, other);
    ASSERT_NE(array, nullptr) << other;
    EXPECT_EQ(values_of<std::int32_t>(*array), data_);
  }
  EXPECT_EQ(file->open_array("dangling").error().code(), ErrorCode::kFieldMissing);
  EXPECT_NE(file->open_array("scalar").error().message().find("scalar"), std::string::npos);
}

TEST_F(Reader, AMissingNameGetsTheNearestFirst) {
  {
    NewFile file(path_);
    for (const char* name : {"adjacency_matrix", "feature_matrix", "labels"})
      file.add(name, H5T_STD_I32LE, {12}, data_.data());
  }
  const auto file = must_open(path_);
  const Error e = file->open_array("featur_matrx").error();
  EXPECT_EQ(e.code(), ErrorCode::kFieldMissing);
  EXPECT_EQ(e.file(), path_);
  EXPECT_EQ(e.hint(), "It has: feature_matrix, adjacency_matrix, labels.");
}

TEST_F(Reader, SmallAttributes) {
  {
    NewFile file(path_);
    const Id dataset = file.add("x", H5T_STD_I32LE, {12}, data_.data());
    const auto add = [&](const char* name, hid_t type, const void* value, hsize_t n) {
      const Id space(n == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &n, nullptr));
      const Id a(H5Acreate2(dataset.get(), name, type, space.get(), H5P_DEFAULT, H5P_DEFAULT));
      H5Awrite(a.get(), type, value);
    };
    const Id fixed(H5Tcopy(H5T_C_S1)), variable(H5Tcopy(H5T_C_S1));
    H5Tset_size(fixed.get(), 4);
    H5Tset_size(variable.get(), H5T_VARIABLE);
    const char* text = "a longer text";
    const double pair[] = {1.5, -2};
    const std::int16_t n = -7;
    add("unit", fixed.get(), "GeV", 0);
    add("note", variable.get(), &text, 0);
    add("range", H5T_IEEE_F64LE, pair, 2);
    add("n", H5T_STD_I16LE, &n, 0);
    add("big", H5T_STD_I32LE, data_.data(), 12);
  }
  const Attributes attributes = must_open(path_)->arrays().at(0).attributes;
  EXPECT_EQ(attributes.values.at("unit"), AttributeValue("GeV"));
  EXPECT_EQ(attributes.values.at("note"), AttributeValue("a longer text"));
  EXPECT_EQ(attributes.values.at("range"), AttributeValue(std::vector<double>{1.5, -2}));
  EXPECT_EQ(attributes.values.at("n"), AttributeValue(std::int64_t{-7}));
}

TEST_F(Reader, ContiguousRowsAreViewsOfTheStoredBytes) {
  {
    NewFile file(path_, 1024);
    file.add("x", H5T_STD_I32LE, {6, 2}, data_.data());
  }
  const auto file = must_open(path_);
  const auto array = must_open_array(*file, "x");
  std::vector<Piece> pieces;
  ASSERT_TRUE(array->locate({2, 3}, pieces).ok());
  ASSERT_EQ(pieces.size(), 1U);
  EXPECT_EQ(pieces[0].rows, (RowRange{2, 3}));
  EXPECT_EQ(pieces[0].stored.range.size, 24U);
  const Status cells = array->locate_cells(std::vector<std::uint64_t>{0}, pieces);
  ASSERT_FALSE(cells.ok());
  EXPECT_EQ(cells.error().code(), ErrorCode::kUnsupported);
  EXPECT_EQ(cells.error().field(), array->info().path);
  EXPECT_EQ(array->scratch_need(6).out_bytes, 0U);
  std::vector<std::byte> stored(24);
  ASSERT_TRUE(pieces[0].stored.file->read_at(pieces[0].stored.range.offset, stored).ok());
  auto decoded = array->decode(pieces[0], stored, {});
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->data, stored.data());
  EXPECT_EQ(values_of<std::int32_t>(*array), data_);
}

TEST_F(Reader, CompactAndNeverWritten) {
  {
    NewFile file(path_);
    const Id compact(H5Pcreate(H5P_DATASET_CREATE)), filled(H5Pcreate(H5P_DATASET_CREATE));
    H5Pset_layout(compact.get(), H5D_COMPACT);
    const std::int32_t fill = -999;
    H5Pset_fill_value(filled.get(), H5T_NATIVE_INT32, &fill);
    file.add("compact", H5T_STD_I32BE, {4, 3}, data_.data(), compact.get(), {}, H5T_NATIVE_INT32);
    file.add("filled", H5T_STD_I32BE, {12}, nullptr, filled.get());
    file.add("zero", H5T_STD_I32LE, {12}, nullptr);
    file.add("absurd", H5T_STD_I32LE, {hsize_t{1} << 58}, nullptr);
  }
  EXPECT_EQ(values_of<std::int32_t>(path_, "compact"), data_);
  EXPECT_EQ(values_of<std::int32_t>(path_, "filled"), std::vector<std::int32_t>(12, -999));
  EXPECT_EQ(values_of<std::int32_t>(path_, "zero"), std::vector<std::int32_t>(12, 0));
  const auto file = must_open(path_);
  auto rows = read_rows(*must_open_array(*file, "absurd"), {(std::uint64_t{1} << 58) - 2, 2});
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(*rows, std::vector<std::byte>(8));
}

// The walk over the file has summed the sizes of the chunks, and the first rows need the index.
TEST_F(Reader, OpeningAnArrayReadsNoIndexOfChunks) {
  constexpr std::size_t kRows = 20'000;
  {
    NewFile file(path_);
    const auto data = counted<std::uint8_t>(kRows);
    file.add("x", H5T_STD_U8LE, {kRows}, data.data(), chunks_of({1}).get());
  }
  const auto file = std::make_shared<CountingFile>(*FileSystem::of(path_).open(path_));
  const auto reader = open_hdf5(file, path_);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->arrays().at(0).stored_bytes, kRows);
  file->reset();
  const auto array = (*reader)->open_array("x");
  ASSERT_TRUE(array.ok());
  EXPECT_EQ((*array)->info().stored_bytes, kRows);
  EXPECT_LT(file->num_bytes(), kRows);  // the index has more than 32 bytes for each chunk
  EXPECT_EQ(values_of<std::uint8_t>(**array), counted<std::uint8_t>(kRows));
  EXPECT_GT(file->num_bytes(), 32 * kRows);
}

TEST_F(Reader, UnknownFiltersAreNamed) {
  {
    NewFile file(path_);
    H5Z_class2_t fake{};
    fake.version = H5Z_CLASS_T_VERS;
    fake.id = 32013;
    fake.encoder_present = fake.decoder_present = 1;
    fake.name = "test";
    fake.filter = [](unsigned, size_t, const unsigned[], size_t n, size_t*, void**) -> size_t { return n; };
    H5Zregister(&fake);
    const Id list = chunks_of({4});
    H5Pset_filter(list.get(), 32013, 0, 0, nullptr);
    file.add("x", H5T_STD_I32LE, {12}, data_.data(), list.get()).reset();
    H5Fflush(file.id(), H5F_SCOPE_LOCAL);
  }
  H5Zunregister(32013);
  const auto file = must_open(path_);
  EXPECT_EQ(file->arrays()[0].read_path, ReadPath::kUnsupported);
  const Error e = file->open_array("x").error();
  EXPECT_EQ(e.code(), ErrorCode::kUnsupported);
  EXPECT_NE(e.message().find("32013"), std::string::npos) << e.what();
}

TEST_F(Reader, ScaleOffsetAndNBitAreDecodedHere) {
  {
    NewFile file(path_);
    const Id scaled = chunks_of({5}), packed = chunks_of({5});
    H5Pset_scaleoffset(scaled.get(), H5Z_SO_INT, 0);
    H5Pset_shuffle(packed.get());
    H5Pset_nbit(packed.get());
    file.add("scaled", H5T_STD_I32LE, {12}, data_.data(), scaled.get());
    file.add("packed", H5T_STD_I32BE, {12}, data_.data(), packed.get(), {}, H5T_NATIVE_INT32);
  }
  const auto file = must_open(path_);
  for (const char* name : {"scaled", "packed"}) {
    const auto array = must_open_array(*file, name);
    EXPECT_EQ(array->info().read_path, ReadPath::kNative) << name;
    EXPECT_EQ(values_of<std::int32_t>(*array), data_) << name;
    EXPECT_EQ(array->slow_pieces(), 0U);
  }
}

TEST_F(Reader, ReadsRealFiles) {
  const char* set = std::getenv("HEADRACE_SHARED_DATA");
  const std::filesystem::path data = set ? set : std::filesystem::path(HEADRACE_SOURCE_DIR) / "../shared/data";
  const auto path = data / "neutrino/data/tests/liquid-o/liquido_electrons.h5";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no shared data: set HEADRACE_SHARED_DATA";
  const auto file = must_open(path.string());
  ASSERT_FALSE(file->arrays().empty());
  std::size_t read = 0;
  for (const ArrayInfo& info : file->arrays()) {
    if (info.read_path == ReadPath::kUnsupported) continue;
    const auto array = must_open_array(*file, info.path);
    for (std::size_t c = 0; c < info.columns.size(); ++c) {
      auto rows = read_rows(*array, {0, info.rows()}, c);
      ASSERT_TRUE(rows.ok()) << rows.error().what();
      read += rows->size();
    }
  }
  EXPECT_GT(read, 1000U);
}

}  // namespace
}  // namespace headrace::hdf5
