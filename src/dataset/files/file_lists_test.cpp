#include "dataset/files/file_lists.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "dataset/dataset_contents.h"
#include "dataset/facts/data_identity.h"
#include "dataset/testing/companion_files.h"
#include "format/testing/hdf5_files.h"
#include "format/testing/npy_files.h"

namespace headrace {
namespace {

using headrace::testing::CompanionFilesTest;
using headrace::testing::write_npy;
namespace fs = std::filesystem;

/// Two files of a data set with files beside them.
class FileListsTest : public CompanionFilesTest {
 protected:
  static std::string identity_of(const Dataset& data) {
    return identify(impl_of(data)->source, impl_of(data)->layout).text();
  }
};

TEST_F(FileListsTest, PiecesOfOneBlockComeFromSeveralFiles) {
  const Dataset data = open_all();
  std::vector<std::uint64_t> rows(data.size());
  std::iota(rows.begin(), rows.end(), 0);
  ASSERT_EQ(rows.size(), 2 * kRowsAFile);
  check(data.slice(0, rows.size()), rows);
  rows = {399, 0, 200, 199, 31, 32, 49, 50, 51, 250, 250};
  check(data.take(rows), rows);
}

TEST_F(FileListsTest, ChoosingFieldsKeepsTheFilesTheyLieIn) {
  const Dataset data = open_all();
  EXPECT_EQ(data.companion_files().size(), 2u);
  EXPECT_EQ(data.companion_files().at(folder_.path("side_*.h5")),
            (std::vector<std::string>{folder_.path("side_0.h5"), folder_.path("side_1.h5")}));
  const std::vector<std::string> names{"y", "x"};
  const Dataset chosen = data.choose(names);
  const SourceFile& file = impl_of(chosen)->source.rows()->files[1];
  ASSERT_EQ(file.companion_files.size(), 1u);
  EXPECT_EQ(file.companion_files[0].path, folder_.path("side_1.h5"));
  EXPECT_EQ(file.companion_files[0].arrays, std::vector<std::uint32_t>{0});
  const std::vector<std::uint64_t> some{1, 300};
  EXPECT_EQ(impl_of(chosen.select(some))->source.rows()->files[0].companion_files.size(), 1u);
  const std::vector<std::string> own{"x"};
  EXPECT_TRUE(data.choose(own).companion_files().empty());
  EXPECT_EQ(identity_of(data.choose(own)), identity_of(open(folder_.path("own_*.h5"))));
}

TEST_F(FileListsTest, FilesBesideArePartOfTheIdentity) {
  const std::string before = identity_of(open_all());
  EXPECT_EQ(identity_of(open_all()), before);
  write_npy(folder_.path("flat_1.npy"), kRowsAFile, 7);
  EXPECT_NE(identity_of(open_all()), before);
}

TEST_F(FileListsTest, EachListHasAnIndexOfItsOwn) {
  const IndexStore store{folder_.path("index")};
  for (const auto& entry : fs::directory_iterator(folder_.path()))
    if (entry.is_regular_file())
      fs::last_write_time(entry, fs::file_time_type::clock::now() - std::chrono::seconds(10));
  const std::vector<std::string> own{folder_.path("own_0.h5"), folder_.path("own_1.h5")};
  const std::vector<std::string> side{folder_.path("side_0.h5"), folder_.path("side_1.h5")};
  FileLists lists(own, {{"S", {folder_.path("side_*.h5")}}}, store);
  ASSERT_EQ(*lists.add("S"), 1u);
  EXPECT_EQ(*lists.add(folder_.path("side_?.h5")), 1u);  // the same files
  for (const std::uint32_t list : {0u, 1u})
    for (const std::size_t file : {0, 1}) {
      const std::shared_ptr<const FormatReader> reader = *lists.open(list, file);
      EXPECT_EQ(reader == *lists.open(list, file), file == 0);
      const std::vector<std::shared_ptr<ArrayReader>> arrays{*reader->open_array(list == 0 ? "x" : "y")};
      lists.learn(list, file, *reader, arrays);
    }
  lists.save();
  EXPECT_EQ(store.load(own).size(), 2u);
  EXPECT_EQ(store.load(side).size(), 2u);
}

TEST(DividePath, TheFirstDividerDivides) {
  EXPECT_FALSE(divide_path("group/x"));
  EXPECT_EQ(divide_path("a.h5::ns::x"), (std::pair<std::string, std::string>{"a.h5", "ns::x"}));
  EXPECT_EQ(divide_path("a.npy::"), (std::pair<std::string, std::string>{"a.npy", ""}));
}

}  // namespace
}  // namespace headrace
