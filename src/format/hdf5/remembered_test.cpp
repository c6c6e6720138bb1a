// A file opened from its facts: without reading it, and to the same values.
#include "format/hdf5/remembered.h"

#include "catalog/array_info_bytes.h"
#include "format/hdf5/hdf5_testing.h"
#include "storage/file_system.h"
#include "storage/testing/file_doubles.h"

namespace headrace::hdf5 {
namespace {

std::vector<std::int32_t> first_numbers(std::size_t n) {
  std::vector<std::int32_t> values(n);
  std::iota(values.begin(), values.end(), 7);
  return values;
}

struct RememberedRecord {
  double a;
  std::int16_t b[3];
};

/// Arrays of every kind that is read in a way of its own.
void write_all_kinds(const std::string& path, H5F_libver_t low) {
  NewFile file(path, 512, low);
  const auto data = first_numbers(40 * 13);
  const Id packed = chunks_of({7, 5});
  H5Pset_shuffle(packed.get());
  H5Pset_deflate(packed.get(), 1);
  H5Pset_fletcher32(packed.get());
  file.add("chunked", H5T_STD_I32LE, {40, 13}, data.data(), packed.get());
  const Id plain = chunks_of({7, 5});
  const std::int32_t fill = -3;
  H5Pset_fill_value(plain.get(), H5T_NATIVE_INT32, &fill);
  file.add("grp/big_endian", H5T_STD_I32BE, {40, 13}, data.data(), plain.get(), {}, H5T_NATIVE_INT32);
  file.add("never", H5T_STD_I32LE, {40, 13}, nullptr, plain.get());
  file.add("extensible", H5T_STD_I32LE, {40, 13}, data.data(), packed.get(), {H5S_UNLIMITED, 13});
  file.add("contiguous", H5T_STD_I32LE, {40, 13}, data.data());
  file.add("unwritten", H5T_STD_I32LE, {40, 13}, nullptr);
  const Id compact(H5Pcreate(H5P_DATASET_CREATE));
  H5Pset_layout(compact.get(), H5D_COMPACT);
  file.add("compact", H5T_STD_I32LE, {40, 13}, data.data(), compact.get());
  const Id of_24_bits(H5Tcopy(H5T_STD_I32LE));
  H5Tset_precision(of_24_bits.get(), 24);  // libhdf5 converts
  file.add("converted", of_24_bits.get(), {40, 13}, data.data(), chunks_of({7, 5}).get(), {}, H5T_NATIVE_INT32);

  const Id type(H5Tcreate(H5T_COMPOUND, sizeof(RememberedRecord)));
  const hsize_t three = 3;
  const Id array_type(H5Tarray_create2(H5T_NATIVE_INT16, 1, &three));
  H5Tinsert(type.get(), "a", HOFFSET(RememberedRecord, a), H5T_NATIVE_DOUBLE);
  H5Tinsert(type.get(), "b", HOFFSET(RememberedRecord, b), array_type.get());
  std::vector<RememberedRecord> records(40);
  for (int i = 0; i < 40; ++i) records[i] = {i * 0.5, {static_cast<std::int16_t>(i), 1, 2}};
  const Id rows = chunks_of({6});
  H5Pset_deflate(rows.get(), 1);
  file.add("records", type.get(), {40}, records.data(), rows.get());
}

std::vector<std::shared_ptr<ArrayReader>> open_all(const FormatReader& file) {
  std::vector<std::shared_ptr<ArrayReader>> arrays;
  for (const ArrayInfo& info : file.arrays()) arrays.push_back(must_open_array(file, info.path));
  return arrays;
}

class Remembered : public ::testing::TestWithParam<H5F_libver_t> {
 protected:
  void SetUp() override {
    write_all_kinds(path_, GetParam());
    file_ = must_open(path_);
    arrays_ = open_all(*file_);
    facts_ = file_->facts(arrays_);
    ASSERT_FALSE(facts_.empty());
  }
  TemporaryFolder folder_;
  const std::string path_ = folder_.path("f.h5");
  std::shared_ptr<FormatReader> file_;
  std::vector<std::shared_ptr<ArrayReader>> arrays_;
  std::string facts_;
};

TEST_P(Remembered, IsDescribedAsBeforeWithoutReadingTheFile) {
  const auto counting = std::make_shared<CountingFile>(*FileSystem::of(path_).open(path_));
  const auto again = open_remembered(counting, path_, facts_);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->format_name(), file_->format_name());
  ASSERT_EQ(again->arrays().size(), file_->arrays().size());
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    const ArrayInfo &then = file_->arrays()[i], &now = again->arrays()[i];
    PackedWriter a, b;
    pack(then, a);
    pack(now, b);
    EXPECT_EQ(a.bytes(), b.bytes()) << then.path;
    if (then.read_path != ReadPath::kNative) continue;
    const auto array = must_open_array(*again, then.path);
    ASSERT_NE(array, nullptr);
    EXPECT_EQ(array->pieces_across(), arrays_[i]->pieces_across());
    EXPECT_EQ(array->scratch_need(10).out_bytes, arrays_[i]->scratch_need(10).out_bytes);
    EXPECT_EQ(array->scratch_need(10).filter_bytes, arrays_[i]->scratch_need(10).filter_bytes);
  }
  EXPECT_EQ(counting->num_reads(), 0u);
  EXPECT_EQ(again->facts({}), "") << "nothing new was learnt";
}

TEST_P(Remembered, EveryArrayHasTheSameBytes) {
  const auto again = headrace::open_remembered(path_, file_->file().fingerprint(), facts_);
  ASSERT_NE(again, nullptr);
  file_.reset();
  for (const auto& then : arrays_) {
    const auto now = must_open_array(*again, then->info().path);
    ASSERT_NE(now, nullptr);
    for (std::size_t c = 0; c < then->info().columns.size(); ++c) {
      const auto expected = read_rows(*then, {0, 40}, c), found = read_rows(*now, {0, 40}, c);
      ASSERT_TRUE(expected.ok() && found.ok()) << then->info().path;
      EXPECT_TRUE(*expected == *found) << then->info().path;
    }
  }
  EXPECT_NE(again->facts(arrays_), "") << "an array was opened that was not remembered";
}

TEST_P(Remembered, AFileThatWasReplacedIsNoticedBeforeItsBytesAreUsed) {
  const FileFingerprint fingerprint = file_->file().fingerprint();
  arrays_.clear();
  file_.reset();
  write_all_kinds(folder_.path("g.h5"), GetParam());
  std::filesystem::rename(folder_.path("g.h5"), path_);
  const auto again = headrace::open_remembered(path_, fingerprint, facts_);
  ASSERT_NE(again, nullptr);
  for (const char* name : {"chunked", "extensible", "contiguous"}) {
    const auto array = must_open_array(*again, name);
    const auto rows = read_rows(*array, {0, 40});
    ASSERT_FALSE(rows.ok()) << name;
    EXPECT_EQ(rows.error().code(), ErrorCode::kFileChanged) << rows.error().what();
  }
  const auto refused = again->open_array("converted");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kFileChanged) << refused.error().what();
}

TEST_P(Remembered, TruncatedFactsAreNotUsed) {
  const FileFingerprint fingerprint = file_->file().fingerprint();
  for (std::size_t size = 0; size < facts_.size(); ++size)
    ASSERT_EQ(headrace::open_remembered(path_, fingerprint, std::string_view(facts_).substr(0, size)), nullptr);
  EXPECT_EQ(headrace::open_remembered(path_, fingerprint, facts_ + "x"), nullptr);
  std::string other = facts_;
  other[3] ^= 1;  // in what it says of the library
  EXPECT_EQ(headrace::open_remembered(path_, fingerprint, other), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Hdf5, Remembered, ::testing::Values(H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST),
                         [](const auto& p) { return p.param == H5F_LIBVER_EARLIEST ? "earliest" : "latest"; });

TEST(RememberedFile, WithArraysInOtherFilesIsAlwaysOpenedAnew) {
  const TemporaryFolder folder;
  const std::string path = folder.path("f.h5");
  {
    NewFile file(path);
    const Id list(H5Pcreate(H5P_DATASET_CREATE));
    folder.write_text("raw.bin", std::string(40, 'x'));
    H5Pset_external(list.get(), "raw.bin", 0, 40);
    file.add("outside", H5T_STD_I32LE, {10}, nullptr, list.get());
  }
  const auto file = must_open(path);
  EXPECT_EQ(file->facts(open_all(*file)), "");
}

// libhdf5 keeps half a megabyte for each open file: nothing may hold one that is not needed.
TEST(OpenFiles, AreClosedInLibhdf5OnceNobodyNeedsThem) {
  const TemporaryFolder folder;
  const std::string path = folder.path("f.h5");
  H5Z_class2_t plugin{};  // that only libhdf5 has: what it reads stays open in it
  plugin.version = H5Z_CLASS_T_VERS;
  plugin.id = 300;
  plugin.encoder_present = plugin.decoder_present = 1;
  plugin.name = "plugin";
  plugin.filter = [](unsigned, size_t, const unsigned[], size_t n, size_t*, void**) -> size_t { return n; };
  ASSERT_GE(H5Zregister(&plugin), 0);
  write_all_kinds(path, H5F_LIBVER_EARLIEST);
  {
    const Id file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT)), list = chunks_of({7});
    H5Pset_filter(list.get(), plugin.id, 0, 0, nullptr);
    const hsize_t rows = 40;
    const Id space(H5Screate_simple(1, &rows, nullptr));
    const Id dataset(
        H5Dcreate2(file.get(), "plugin", H5T_STD_I32LE, space.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT));
    const std::vector<std::int32_t> data(40, 7);
    ASSERT_GE(H5Dwrite(dataset.get(), H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, data.data()), 0);
  }
  const auto open_files = [] {
    const LibraryLock library;
    return H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_FILE);
  };
  const auto before = open_files();
  auto file = must_open(path);
  const auto chunked = must_open_array(*file, "chunked"), contiguous = must_open_array(*file, "contiguous");
  auto by_plugin = must_open_array(*file, "plugin");
  EXPECT_EQ(open_files(), before + 1);
  file.reset();
  EXPECT_EQ(open_files(), before + 1);
  EXPECT_TRUE(read_rows(*by_plugin, {0, 40}).ok());
  by_plugin.reset();
  EXPECT_EQ(open_files(), before);
  EXPECT_TRUE(read_rows(*chunked, {0, 40}).ok());
  EXPECT_TRUE(read_rows(*contiguous, {0, 40}).ok());
  EXPECT_EQ(open_files(), before);
  H5Zunregister(plugin.id);
}

}  // namespace
}  // namespace headrace::hdf5
