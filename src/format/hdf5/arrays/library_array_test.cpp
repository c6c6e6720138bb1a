// Filters that only libhdf5 has: which pipelines it may decode, and what is looked at before it does. The filter here
// is registered with it, as a plugin would be.
#include <gtest/gtest.h>

#include <cstring>

#include "format/hdf5/hdf5_testing.h"

namespace headrace::hdf5 {
namespace {

constexpr H5Z_filter_t kInvert = 300;  // among the numbers for tests

std::size_t invert(unsigned, std::size_t, const unsigned[], std::size_t bytes, std::size_t*, void** buffer) {
  auto* const at = static_cast<unsigned char*>(*buffer);
  for (std::size_t i = 0; i < bytes; ++i) at[i] = static_cast<unsigned char>(~at[i]);
  return bytes;
}

class LibraryFilters : public ::testing::Test {
 protected:
  LibraryFilters() {
    const H5Z_class2_t filter{H5Z_CLASS_T_VERS, kInvert, 1, 1, "invert", nullptr, nullptr, &invert};
    EXPECT_GE(H5Zregister(&filter), 0);
  }
  ~LibraryFilters() override { H5Zunregister(kInvert); }

  /// An array of 23 numbers in chunks of 8; the letters of `filters` are shuffle, gzip, fletcher32 and the plugin.
  void write(const std::string& filters, const std::vector<std::byte>& second_chunk = {}, std::uint32_t mask = 0) {
    const Id list = chunks_of({8});
    for (const char filter : filters) {
      if (filter == 's') H5Pset_shuffle(list.get());
      if (filter == 'g') H5Pset_deflate(list.get(), 1);
      if (filter == 'f') H5Pset_fletcher32(list.get());
      if (filter == 'p') H5Pset_filter(list.get(), kInvert, H5Z_FLAG_MANDATORY, 0, nullptr);
    }
    NewFile file(path_);
    const Id dataset = file.add("x", H5T_STD_I32LE, {23}, data_.data(), list.get());
    const hsize_t at = 8;
    if (!second_chunk.empty()) {
      EXPECT_GE(H5Dwrite_chunk(dataset.get(), H5P_DEFAULT, mask, &at, second_chunk.size(), second_chunk.data()), 0);
    }
  }

  void expect_damage(const char* words) {
    const auto file = must_open(path_);
    const auto array = must_open_array(*file, "x");
    ASSERT_NE(array, nullptr);
    EXPECT_TRUE(read_rows(*array, {0, 8}).ok()) << "the chunk before it is sound";
    const auto rows = read_rows(*array, {8, 8});
    ASSERT_FALSE(rows.ok());
    EXPECT_EQ(rows.error().code(), ErrorCode::kCorruptData);
    EXPECT_EQ(rows.error().field(), "x");
    EXPECT_NE(std::string(rows.error().what()).find(words), std::string::npos) << rows.error().what();
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_.path("f.h5");
  const std::vector<std::int32_t> data_ = counted<std::int32_t>(23);
};

TEST_F(LibraryFilters, OneWithShuffleBeforeAndChecksumBehindIsRead) {
  for (const char* filters : {"p", "sp", "pf", "spf"}) {
    SCOPED_TRACE(filters);
    write(filters);
    EXPECT_EQ(values_of<std::int32_t>(path_, "x"), data_);
    EXPECT_EQ(must_open(path_)->arrays().at(0).read_path, ReadPath::kFallback);
  }
}

TEST_F(LibraryFilters, OneWithACompressorIsRefusedByName) {
  for (const char* filters : {"pg", "gp", "spg", "pgf", "pp", "ps", "fp"}) {
    SCOPED_TRACE(filters);
    write(filters);
    const auto array = must_open(path_)->open_array("x");
    ASSERT_FALSE(array.ok());
    EXPECT_EQ(array.error().code(), ErrorCode::kUnsupported);
    EXPECT_EQ(array.error().field(), "x");
    const std::string text = array.error().what();
    EXPECT_NE(text.find("without limits"), std::string::npos) << text;
    EXPECT_NE(text.find("filter 300 (invert)"), std::string::npos) << text;
    if (std::strchr(filters, 'g') != nullptr) {
      EXPECT_NE(text.find("filter 1 (deflate)"), std::string::npos) << text;
    }
  }
}

TEST_F(LibraryFilters, AChunkThatWasNotFilteredHasTheLengthOfAChunk) {
  const std::vector<std::byte> whole(32, std::byte{1}), part(12, std::byte{1});
  write("p", whole, 1);
  auto expected = data_;
  std::fill(expected.begin() + 8, expected.begin() + 16, 0x01010101);
  EXPECT_EQ(values_of<std::int32_t>(path_, "x"), expected);
  write("p", part, 1);
  expect_damage("12 stored bytes, 32 expected");
}

// libhdf5 1.10 computes the checksum of a stream that has fewer bytes than a checksum: of all of the memory behind it.
TEST_F(LibraryFilters, AChunkShorterThanItsChecksum) {
  write("pf", {std::byte{1}, std::byte{2}}, 0);
  expect_damage("fewer than its checksum has");
}

}  // namespace
}  // namespace headrace::hdf5
