#include "dataset/data_tree.h"

#include <gtest/gtest.h>
#include <headrace/dataset/mix.h>
#include <rapidcheck.h>

#include <filesystem>

#include "base/testing/temporary_folder.h"
#include "dataset/data_identity.h"
#include "dataset/dataset_contents.h"
#include "format/testing/npy_files.h"

namespace headrace {
namespace {

constexpr std::uint64_t kRows = 200;

class DataTree : public ::testing::Test {
 protected:
  DataTree() {
    for (int i = 0; i < 4; ++i)
      testing::write_npy<std::int64_t>(folder_.path(std::to_string(i) + ".npy"), kRows, i * 200);
  }

  [[nodiscard]] Dataset files(int first, int end) const {
    std::vector<std::string> paths;
    for (int i = first; i < end; ++i) paths.push_back(folder_.path(std::to_string(i) + ".npy"));
    return open(paths, {.fields = {{"a", "values"}, {"b", "values"}}});
  }

  const TemporaryFolder folder_;
};

std::string identity_of(const Dataset& data) {
  return hash_of(data.impl()->source, data.impl()->layout) + identify(data.impl()->source, data.impl()->layout).text();
}
std::vector<std::int64_t> values_of(const Dataset& data) {
  const Batch all = data.slice(0, data.size());
  const auto values = all[data.fields()[0].name].as<std::int64_t>();
  return {values.begin(), values.end()};
}
/// Some of the rows, each with a chance of a half, the first one in any case.
Dataset some_rows(const Dataset& data) {
  std::vector<std::uint64_t> rows{0};
  for (std::uint64_t row = 1; row < data.size(); ++row)
    if (*rc::gen::inRange(0, 2) == 0) rows.push_back(row);
  return data.select(rows);
}

Dataset with_verbs(Dataset data) {
  for (int verbs = *rc::gen::inRange(0, 4); verbs > 0; --verbs) {
    if (*rc::gen::inRange(0, 3) > 0) {
      data = some_rows(data);
    } else {
      std::vector<std::string> names{"b"};
      if (data.fields().size() > 1 && *rc::gen::arbitrary<bool>()) names.emplace_back("a");
      data = data.choose(names);
    }
  }
  return data;
}

TEST_F(DataTree, ARecipeMakesTheSameDataSetAgain) {
  EXPECT_TRUE(rc::check([this] {
    Dataset data = with_verbs(files(0, *rc::gen::inRange(1, 3)));
    if (*rc::gen::inRange(0, 3) == 0) {
      const double weight = *rc::gen::element(0.0, 0.3, 2.0);
      const auto names = std::vector<std::string>{"b"};
      data = mix({{"one", data.choose(names), weight}, {"another", with_verbs(files(2, 4)).choose(names), 2 * weight}},
                 {*rc::gen::element(1.0, 2.5), *rc::gen::element(MixStop::kFirst, MixStop::kAll),
                  *rc::gen::element<std::uint64_t>(0, 77)});
    }
    const Dataset again = open_recipe(data.recipe());
    RC_ASSERT(identity_of(again) == identity_of(data));
    RC_ASSERT(again.size() == data.size());
    RC_ASSERT(values_of(again) == values_of(data));
    RC_ASSERT(again.recipe() == data.recipe());
    RC_ASSERT(again.describe() == data.describe());
  }));
}

TEST_F(DataTree, IsShownOnOneLine) {
  const std::vector<std::uint64_t> rows{1, 3, 399};
  const std::vector<std::string> b{"b"};
  const Dataset data = mix({{"one", files(0, 2).select(rows).choose(b)}, {"two", files(2, 3).choose(b)}}, {});
  EXPECT_NE(data.describe().find("made of mix of one (2 files → 3 rows → field b), two (1 file → field b)"),
            std::string::npos)
      << data.describe();
  EXPECT_EQ(files(0, 2).describe().find("made of"), std::string::npos);
}

TEST_F(DataTree, RowsThatTheFilesHoldNoMoreAreNamed) {
  const std::vector<std::uint64_t> rows{5, 300};
  const std::string recipe = files(0, 2).select(rows).recipe();
  std::filesystem::copy_file(folder_.path("0.npy"), folder_.path("shorter.npy"));
  auto node = node_of_recipe(recipe).value();
  auto fewer = std::make_shared<DataNode>(*node->of[0]);
  std::get<FilesNode>(fewer->what).paths = {folder_.path("shorter.npy")};
  const DataNode moved{node->what, {fewer}};
  try {
    resolve(moved);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("row 300 was selected of 400"), std::string::npos) << error.what();
  }
}

TEST_F(DataTree, DamagedRecipesAreRefusedOrMeanOtherFiles) {
  const std::vector<std::uint64_t> rows{5, 300};
  const std::vector<std::string> b{"b"};
  const std::string recipe =
      mix({{"x", files(0, 2).select(rows).choose(b), 1}, {"y", files(2, 4).choose(b), 2}}).recipe();
  for (std::size_t length = 0; length < recipe.size(); ++length)
    EXPECT_FALSE(node_of_recipe(std::string_view(recipe).substr(0, length)).ok()) << length;
  EXPECT_FALSE(node_of_recipe(recipe + "x").ok());
  for (std::size_t at = 0; at < recipe.size(); ++at)
    for (const int bit : {0, 3, 7}) {
      std::string damaged = recipe;
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << bit);
      try {
        open_recipe(damaged);
      } catch (const Error&) {  // an error of ours, never a crash
      }
    }
}

TEST_F(DataTree, DataInMemoryHasNone) {
  const Dataset on_disk = files(0, 1);
  const Dataset in_memory(Dataset::Impl::make(on_disk.impl()->source));
  const std::vector<std::uint64_t> rows{1};
  for (const Dataset& data : {in_memory, in_memory.select(rows), mix({{"m", in_memory}})}) {
    try {
      (void)data.recipe();
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    }
  }
}

}  // namespace
}  // namespace headrace
