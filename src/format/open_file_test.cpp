// Bad files: each gets a typed error that says what is wrong and what to do.
#include <fstream>

#include "format/hdf5/hdf5_testing.h"

namespace headrace {
namespace {

using hdf5::NewFile;

class OpenFile : public ::testing::Test {
 protected:
  TemporaryFolder folder_;

  Error refused(const std::string& path) {
    auto file = open_file(path);
    EXPECT_FALSE(file.ok());
    if (file.ok()) return Error(ErrorCode::kInternal, "opened");
    EXPECT_EQ(file.error().file(), path);
    return file.error();
  }
};

TEST_F(OpenFile, MissingDirectoryEmpty) {
  EXPECT_EQ(refused(folder_.path("no.h5")).code(), ErrorCode::kNotFound);
  EXPECT_EQ(refused(std::filesystem::path(folder_.path("x")).parent_path().string()).code(),
            ErrorCode::kInvalidArgument);
  const Error empty = refused(folder_.write_text("empty.h5", ""));
  EXPECT_EQ(empty.code(), ErrorCode::kCorruptData);
  EXPECT_NE(empty.message().find("empty"), std::string::npos);
}

TEST_F(OpenFile, OtherFormatsAreNamed) {
  using namespace std::string_view_literals;
  struct {
    std::string_view bytes;
    const char* name;
  } const cases[] = {{"CDF\x01\0\0\0\0"sv, "netCDF-3"},
                     {"CDF\x02\0\0\0\0"sv, "netCDF-3"},
                     {"CDF\x05\0\0\0\0"sv, "netCDF-3"},
                     {"\x1f\x8b\x08\0"sv, "gzip"},
                     {"root\0\0"sv, "ROOT"},
                     {"\x89HDF\n\x1a\n....."sv, "text-mode"},
                     {"<!DOCTYPE html>"sv, "HTML"},
                     {"version https://git-lfs.github.com/spec/v1"sv, "Git LFS"},
                     {"\0\0\0\0\0\0\0\0\0\0"sv, "zeros"},
                     {"a,b,c\n1,2,3\n"sv, "text file"},
                     {"\x01\x02\x03"sv, "nor anything else"}};
  for (const auto& c : cases) {
    const Error e = refused(folder_.write_text("f", c.bytes));
    EXPECT_EQ(e.code(), ErrorCode::kUnsupported);
    EXPECT_NE(e.message().find(c.name), std::string::npos) << e.what();
  }
}

TEST_F(OpenFile, TruncatedParquetFilesAreDamaged) {
  const Error error = refused(folder_.write_text("f", std::string("PAR1") + std::string(100, '\0')));
  EXPECT_EQ(error.code(), ErrorCode::kCorruptData);
  EXPECT_NE(error.message().find("does not end in PAR1"), std::string::npos) << error.what();
}

TEST_F(OpenFile, TruncatedFilesSayByHowMuch) {
  for (const hsize_t user_block : {0, 512})
    for (const H5F_libver_t version : {H5F_LIBVER_EARLIEST, H5F_LIBVER_V110}) {
      const std::string path = folder_.path("t.h5");
      const auto data = hdf5::counted<std::int32_t>(1000);
      {
        NewFile file(path, user_block, version);
        file.add("x", H5T_STD_I32LE, {1000}, data.data());
      }
      const auto size = std::filesystem::file_size(path);
      std::filesystem::resize_file(path, size - 1);
      const Error e = refused(path);
      EXPECT_EQ(e.code(), ErrorCode::kCorruptData);
      EXPECT_NE(e.message().find(std::to_string(size - 1) + " bytes but its superblock says " + std::to_string(size)),
                std::string::npos)
          << e.what();
      std::filesystem::resize_file(path, user_block + 20);
      EXPECT_EQ(refused(path).code(), ErrorCode::kCorruptData);
    }
}

TEST_F(OpenFile, NewerFormatsAreUnsupportedNotDamaged) {
  const std::string path = folder_.path("n.h5");
  { NewFile file(path); }
  auto bytes = hdf5::bytes_of_file(path);
  bytes[8] = std::byte{7};
  const Error e = refused(folder_.write("n.h5", bytes));
  EXPECT_EQ(e.code(), ErrorCode::kUnsupported);
  EXPECT_NE(e.message().find("version 7"), std::string::npos);
}

TEST_F(OpenFile, AFileBeingWrittenSaysSo) {
  const std::string path = folder_.path("w.h5");
  const std::vector<std::byte> unfinished = [&] {
    NewFile file(path, 0, H5F_LIBVER_V110);
    EXPECT_GE(H5Fstart_swmr_write(file.id()), 0);
    return hdf5::bytes_of_file(path);
  }();
  const Error e = refused(folder_.write("copy.h5", unfinished));
  EXPECT_EQ(e.code(), ErrorCode::kUnsupported) << e.what();
  EXPECT_NE(e.hint().find("h5clear"), std::string::npos) << e.what();
}

}  // namespace
}  // namespace headrace
