#include <gtest/gtest.h>
#include <headrace/tools.h>

#include "format/testing/hdf5_files.h"
#include "tools/json.h"

namespace headrace {
namespace {

using headrace::testing::Hdf5Writer;

const Hdf5Writer::Array kGzip{{1000, 8}, {100, 8}, 4, true};

Json verified(const std::vector<std::string>& files, std::uint32_t threads, ToolResult* result = nullptr) {
  ToolResult made = verify(files, threads, {});
  Json json = Json::parse(made.json);
  if (result != nullptr) *result = std::move(made);
  return json;
}

class Verify : public ::testing::TestWithParam<std::uint32_t> {};  // threads

TEST_P(Verify, GoodFilesAreGood) {
  const TemporaryFolder directory;
  for (const char* name : {"a.h5", "b.h5"}) {
    const Hdf5Writer file(directory.path(name));
    file.write("x", kGzip);
    file.write("flat", {{5000, 3}});
    file.write("empty", {{0, 3}});
  }
  ToolResult result;
  const Json json = verified({directory.path("*.h5")}, GetParam(), &result);
  EXPECT_FALSE(result.findings) << result.text;
  EXPECT_FALSE(result.bad_data);
  EXPECT_EQ(json["files"], 2);
  EXPECT_EQ(json["arrays"], 6);
  EXPECT_EQ(json["bad_pieces"], 0);
  EXPECT_EQ(json["decoded_bytes"], 2 * (1000 * 8 * 4 + 5000 * 3 * 4));
  EXPECT_EQ(json["without_checksum"], Json::array({"flat"}));
}

TEST_P(Verify, EveryBadChunkIsListedInOrderAndTheRestGoesOn) {
  const TemporaryFolder directory;
  const std::string path = directory.path("a.h5");
  {
    const Hdf5Writer file(path);
    file.write("x", kGzip);
    file.write("y", kGzip);
  }
  for (const auto& [name, row] : {std::pair{"x", 300}, {"x", 900}, {"y", 0}}) {
    const auto [offset, size] = headrace::testing::chunk_place(path, name, static_cast<hsize_t>(row), 2);
    headrace::testing::flip_byte(path, offset + size / 2);
  }
  ToolResult result;
  const Json json = verified({path}, GetParam(), &result);
  EXPECT_TRUE(result.bad_data);
  ASSERT_EQ(json["findings"].size(), 3U) << result.text;
  EXPECT_EQ(json["bad_pieces"], 3);
  EXPECT_EQ(json["pieces"], 20);
  EXPECT_EQ(json["findings"][0]["field"], "x");
  EXPECT_EQ(json["findings"][0]["chunk"], "(3,0)");
  EXPECT_EQ(json["findings"][0]["rows"]["first"], 300);
  EXPECT_EQ(json["findings"][1]["chunk"], "(9,0)");
  EXPECT_EQ(json["findings"][2]["field"], "y");
  EXPECT_NE(result.text.find("x › chunk (3,0) › bytes "), std::string::npos) << result.text;
}

TEST_P(Verify, AFileThatIsNotHdf5IsOneFindingAmongOthers) {
  const TemporaryFolder directory;
  { Hdf5Writer(directory.path("a.h5")).write("x", kGzip); }
  std::ofstream(directory.path("b.h5")) << "not HDF5 at all, whatever its name says";
  ToolResult result;
  const Json json = verified({directory.path("*.h5")}, GetParam(), &result);
  EXPECT_TRUE(result.findings);
  EXPECT_TRUE(result.bad_data);
  ASSERT_EQ(json["findings"].size(), 1U);
  EXPECT_EQ(json["findings"][0]["file"], directory.path("b.h5"));
  EXPECT_EQ(json["pieces"], 10);
}

// 6 TiB of fill values: what was never written is counted, not decoded.
TEST_P(Verify, WhatWasNeverWrittenIsCounted) {
  const TemporaryFolder directory;
  {
    const Hdf5Writer file(directory.path("a.h5"));
    file.write("x", kGzip);
    file.write("wide", {.shape = {4, 1ULL << 38}, .chunk = {1, 1ULL << 20}, .gzip = 1, .unwritten = true});
    file.write("slow", {.shape = {1ULL << 38}, .chunk = {1ULL << 20}, .converted = true, .unwritten = true});
    file.write("flat", {.shape = {1ULL << 38}, .unwritten = true});
  }
  ToolResult result;
  const Json json = verified({directory.path("a.h5")}, GetParam(), &result);
  EXPECT_FALSE(result.bad_data) << result.text;
  EXPECT_EQ(json["pieces"], 10);
  EXPECT_EQ(json["decoded_bytes"], 1000 * 8 * 4);
  EXPECT_EQ(json["absent_chunks"], 4 * (1 << 18) + (1 << 18) + 1);
  EXPECT_TRUE(result.findings);
  EXPECT_NE(result.text.find("1,310,721 chunks are not there, never written or lost"), std::string::npos)
      << result.text;
  EXPECT_EQ(json["absent"]["slow"], (Json{{"absent", 1 << 18}, {"chunks", 1 << 18}}));
  EXPECT_FALSE(json["absent"].contains("x"));
}

TEST_P(Verify, ADamagedArrayBesideGoodOnesIsBadData) {
  const TemporaryFolder directory;
  const std::string path = directory.path("a.h5");
  {
    const Hdf5Writer file(path);
    file.write("x", kGzip);
    file.write("y", {{77}, {7}});
  }
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  // Layout message of version 3, chunked, two axes with the element; the address; chunks of 7, which become 0.
  const std::size_t layout = bytes.find(std::string("\3\2\2", 3));
  ASSERT_NE(layout, std::string::npos);
  ASSERT_EQ(bytes[layout + 11], 7);
  file.seekp(static_cast<std::streamoff>(layout + 11));
  file.put(0);
  file.close();
  ToolResult result;
  const Json json = verified({path}, GetParam(), &result);
  EXPECT_TRUE(result.bad_data) << result.text;
  ASSERT_EQ(json["findings"].size(), 1U);
  EXPECT_EQ(json["findings"][0]["field"], "y");
}

/// A filter that only libhdf5 has, which changes nothing.
std::size_t pass_on(unsigned, std::size_t, const unsigned[], std::size_t bytes, std::size_t*, void**) {
  return bytes;
}

TEST_P(Verify, TheSlowWayIsAFindingAndNotDamage) {
  constexpr H5Z_filter_t kFilter = 301;  // among the numbers for tests
  const TemporaryFolder directory;
  const H5Z_class2_t filter{H5Z_CLASS_T_VERS, kFilter, 1, 1, "pass_on", nullptr, nullptr, &pass_on};
  ASSERT_GE(H5Zregister(&filter), 0);
  {
    const hid_t file = H5Fcreate(directory.path("a.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t shape[] = {1000, 8}, chunk[] = {100, 8};
    ASSERT_GE(H5Pset_chunk(list, 2, chunk), 0);
    ASSERT_GE(H5Pset_filter(list, kFilter, H5Z_FLAG_MANDATORY, 0, nullptr), 0);
    const hid_t space = H5Screate_simple(2, shape, nullptr);
    const hid_t x = H5Dcreate2(file, "x", H5T_STD_I32LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    ASSERT_GE(x, 0);
    const std::vector<std::int32_t> rows(1000 * 8, 7);
    ASSERT_GE(H5Dwrite(x, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()), 0);
    H5Dclose(x);
    H5Sclose(space);
    H5Pclose(list);
    H5Fclose(file);
  }
  ToolResult result;
  const Json json = verified({directory.path("a.h5")}, GetParam(), &result);
  EXPECT_TRUE(result.findings);
  EXPECT_FALSE(result.bad_data) << result.text;
  EXPECT_EQ(json["slow_path"].size(), 1U);
  EXPECT_EQ(json["decoded_bytes"], 1000 * 8 * 4);
  H5Zunregister(kFilter);
}

INSTANTIATE_TEST_SUITE_P(Threads, Verify, ::testing::Values(1, 4));

TEST(VerifyStops, WhenProgressSaysSo) {
  const TemporaryFolder directory;
  { Hdf5Writer(directory.path("a.h5")).write("x", kGzip); }
  try {
    verify({directory.path("a.h5")}, 2, [](std::uint64_t, std::uint64_t) { return false; });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
}

TEST(VerifyAlone, AFileThatMayNotBeReadIsNoBadData) {
  const TemporaryFolder directory;
  ToolResult result;
  std::ofstream(directory.path("a.h5")) << "not HDF5 at all";
  EXPECT_EQ(verified({directory.path("a.h5")}, 1, &result)["bad_files"], 1);
  EXPECT_TRUE(result.bad_data);
  try {
    verify({directory.path("b.h5")}, 1, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
  }
}

TEST(VerifyProgress, StaysInsideItsTotal) {
  const TemporaryFolder directory;
  { Hdf5Writer(directory.path("a.h5")).write("x", kGzip); }
  std::uint64_t last = 0;
  verify({directory.path("a.h5")}, 2, [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_LE(last, done);
    EXPECT_LE(done, total);
    last = done;
    return true;
  });
}

}  // namespace
}  // namespace headrace
