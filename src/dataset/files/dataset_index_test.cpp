#include "dataset/files/dataset_index.h"

#include <gtest/gtest.h>
#include <headrace/dataset.h>

#include <filesystem>

#include "base/testing/temporary_folder.h"
#include "format/testing/hdf5_files.h"

namespace headrace {
namespace {

using headrace::testing::Hdf5Writer;
namespace fs = std::filesystem;

class DatasetIndexTest : public ::testing::Test {
 protected:
  /// A file that was written long enough ago to be indexed.
  std::string write(const std::string& name, std::uint64_t rows) {
    const std::string path = folder_.path(name);
    {
      const Hdf5Writer file(path);
      file.write("x", {.shape = {rows, 3}, .chunk = {4, 3}, .gzip = 1});
      file.write("y", {.shape = {rows}});
    }
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::seconds(10));
    return path;
  }
  /// Open the files and their arrays `names` as a data set does. \return How many came from the index.
  std::size_t open_all(const std::vector<std::string>& files, const std::vector<std::string>& names) {
    DatasetIndex index(files, store_);
    for (std::size_t i = 0; i < files.size(); ++i) {
      const auto file = index.open(i);
      EXPECT_TRUE(file.ok());
      std::vector<std::shared_ptr<ArrayReader>> arrays;
      for (const std::string& name : names) arrays.push_back(*(*file)->open_array(name));
      index.learn(i, **file, arrays);
    }
    index.save();
    return index.num_remembered();
  }

  TemporaryFolder folder_;
  const IndexStore store_{folder_.path("index")};
};

TEST_F(DatasetIndexTest, RemembersWhatItOpened) {
  const std::vector<std::string> files{write("a.h5", 10), write("b.h5", 20)};
  EXPECT_EQ(open_all(files, {"x"}), 0u);
  EXPECT_EQ(open_all(files, {"x"}), 2u);
  EXPECT_EQ(open_all(files, {"x", "y"}), 2u);  // y is opened from the files themselves, and remembered from then on
  const auto entries = store_.load(files);
  ASSERT_EQ(entries.size(), 2u);
  const auto reader = open_remembered(files[0], entries[0].fingerprint, entries[0].facts);
  EXPECT_NE((*reader->open_array("y"))->info().rows(), 0u);
}

TEST_F(DatasetIndexTest, AChangedFileIsOpenedAnewAndTheOthersAreNot) {
  const std::vector<std::string> files{write("a.h5", 10), write("b.h5", 20), write("c.h5", 30)};
  EXPECT_EQ(open_all(files, {"x"}), 0u);
  write("b.h5", 25);
  EXPECT_EQ(open_all(files, {"x"}), 2u);
  EXPECT_EQ(open_all(files, {"x"}), 3u);
  EXPECT_EQ(open_all({files[0], files[2]}, {"x"}), 0u);  // another data set
}

TEST_F(DatasetIndexTest, AFileThatWasWrittenJustNowIsNotIndexedYet) {
  const std::vector<std::string> files{write("a.h5", 10)};
  fs::last_write_time(files[0], fs::file_time_type::clock::now());
  EXPECT_EQ(open_all(files, {"x"}), 0u);
  EXPECT_EQ(open_all(files, {"x"}), 0u);
  EXPECT_TRUE(store_.list()->empty());
}

TEST_F(DatasetIndexTest, WithoutAStoreEverythingIsOpenedAnew) {
  const std::vector<std::string> files{write("a.h5", 10)};
  DatasetIndex index(files, std::nullopt);
  const auto file = index.open(0);
  ASSERT_TRUE(file.ok());
  index.learn(0, **file, {});
  index.save();
  EXPECT_EQ(index.num_remembered(), 0u);
}

TEST_F(DatasetIndexTest, ADataSetFromTheIndexHasTheSameRows) {
  const std::vector<std::string> files{write("a.h5", 10), write("b.h5", 20)};
  const auto rows = [&] {
    const Dataset data = open(files);
    const Batch batch = data.slice(0, data.size());
    const auto x = batch["x"].as<std::int32_t>();
    const auto y = batch["y"].as<std::int32_t>();
    std::vector<std::int32_t> all(x.begin(), x.end());
    all.insert(all.end(), y.begin(), y.end());
    return all;
  };
  const char* const before = std::getenv("HEADRACE_CACHE");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("HEADRACE_CACHE", "off", 1);
  const auto expected = rows();
  ::setenv("HEADRACE_CACHE", folder_.path("cache").c_str(), 1);
  EXPECT_EQ(rows(), expected);
  EXPECT_EQ(IndexStore::of_user()->list()->size(), 1u);
  EXPECT_EQ(rows(), expected);
  if (before == nullptr)
    ::unsetenv("HEADRACE_CACHE");
  else
    ::setenv("HEADRACE_CACHE", kept.c_str(), 1);
}

}  // namespace
}  // namespace headrace
