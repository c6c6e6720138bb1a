// A data set that is made again from its recipe: the same epochs.
#include <gtest/gtest.h>
#include <headrace/loader.h>
#include <rapidcheck.h>

#include "dataset/testing/random_data.h"

namespace headrace {
namespace {

class Recipe : public testing::RecipeTest {};

std::vector<std::int64_t> epoch_of(const Dataset& data) {
  Loader loader(data, {.batch = Samples{32}, .order = BlockShuffle{}, .seed = 3, .threads = 1});
  std::vector<std::int64_t> values;
  const std::string name = data.fields()[0].name;
  for (const Batch& batch : loader)
    for (const std::int64_t value : batch[name].as<std::int64_t>()) values.push_back(value);
  return values;
}

TEST_F(Recipe, GivesTheSameEpoch) {
  EXPECT_TRUE(rc::check([this] {
    const Dataset data = random_data();
    RC_ASSERT(epoch_of(open_recipe(data.recipe())) == epoch_of(data));
  }));
  EXPECT_NE(epoch_of(files(0, 1)), epoch_of(files(1, 2)));
}

}  // namespace
}  // namespace headrace
