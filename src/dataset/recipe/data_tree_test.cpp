#include "dataset/recipe/data_tree.h"

#include <gtest/gtest.h>
#include <headrace/mix.h>
#include <rapidcheck.h>

#include <filesystem>

#include "dataset/dataset_contents.h"
#include "dataset/facts/data_identity.h"
#include "dataset/recipe/verb_options.h"
#include "dataset/testing/random_data.h"

namespace headrace {
namespace {

class DataTree : public testing::RecipeTest {};

std::string identity_of(const Dataset& data) {
  return hash_of(impl_of(data)->source, impl_of(data)->layout) +
         identify(impl_of(data)->source, impl_of(data)->layout).text();
}
std::vector<std::int64_t> values_of(const Dataset& data) {
  const Batch all = data.slice(0, data.size());
  const auto values = all[data.fields()[0].name].as<std::int64_t>();
  return {values.begin(), values.end()};
}

/// A recipe that was cut short or continued is refused; one with a flipped bit too, or it means other files.
void expect_damage_is_noticed(const std::string& recipe) {
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

TEST_F(DataTree, ARecipeMakesTheSameDataSetAgain) {
  EXPECT_TRUE(rc::check([this] {
    const Dataset data = random_data();
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
  FilesNode fewer = *options_of<FilesNode>(*node->below);
  fewer.paths = {folder_.path("shorter.npy")};
  try {
    resolve(*with_source(*node, node_of(fewer)));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("sample 300 was selected of 400"), std::string::npos) << error.what();
  }
}

TEST_F(DataTree, DamagedRecipesAreRefusedOrMeanOtherFiles) {
  const std::vector<std::uint64_t> rows{5, 300};
  const std::vector<std::string> b{"b"};
  const std::string recipe =
      mix({{"x", files(0, 2).select(rows).choose(b), 1}, {"y", files(2, 4).choose(b), 2}}).recipe();
  expect_damage_is_noticed(recipe);
}

TEST_F(DataTree, RecipesOfPatches) {
  const Volumes volumes = open_volumes({folder_.path("0.npy"), folder_.path("1.npy")}, {.fields = {{"v", ""}}});
  PatchOptions grid{.shape = {7}, .stride = {5}, .edge = PatchEdge::kFill, .fill = -3};
  for (const PatchOptions& options : {PatchOptions{.shape = {7}, .samples_per_epoch = 20}, grid}) {
    const Dataset data = patches(volumes, options);
    const std::string recipe = data.recipe();
    const Dataset again = open_recipe(recipe);
    EXPECT_EQ(identity_of(again), identity_of(data));
    EXPECT_EQ(again.describe(), data.describe());
    expect_damage_is_noticed(recipe);
  }
  EXPECT_NE(patches(volumes, grid).describe().find("made of 2 volumes → patches of 7 every 5"), std::string::npos);
}

TEST_F(DataTree, DataInMemoryHasNone) {
  const Dataset on_disk = files(0, 1);
  const Dataset in_memory(Dataset::Impl::make(impl_of(on_disk)->source));
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
