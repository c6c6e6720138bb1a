// A data set that is made again from its recipe: the same epochs.
#include <gtest/gtest.h>
#include <headrace/dataset/mix.h>
#include <headrace/loader/loader.h>

#include "base/testing/temporary_folder.h"
#include "format/testing/npy_files.h"

namespace headrace {
namespace {

std::vector<std::int32_t> epoch_of(const Dataset& data) {
  Loader loader(data, {.batch_size = 32, .shuffle = true, .seed = 3, .threads = 1});
  std::vector<std::int32_t> values;
  const std::string name = data.fields()[0].name;
  for (const Batch& batch : loader)
    for (const std::int32_t value : batch[name].as<std::int32_t>()) values.push_back(value);
  return values;
}

TEST(Recipe, GivesTheSameEpoch) {
  const TemporaryFolder folder;
  for (const int i : {0, 1}) testing::write_npy(folder.path(std::to_string(i) + ".npy"), 300, 1000 * i);
  const auto file = [&](const std::string& number) {
    return open(folder.path(number + ".npy"), {.fields = {{"x", "values"}}});
  };
  const Dataset first = file("0"), second = file("1");
  const std::vector<std::uint64_t> rows{0, 3, 4, 17, 18, 90, 91, 120, 299};
  const Dataset mixed = mix({{"one", first, 1}, {"two", second, 2}});
  for (const Dataset& data : {first, first.select(rows), mixed}) {
    const std::vector<std::int32_t> epoch = epoch_of(data);
    EXPECT_FALSE(epoch.empty());
    EXPECT_EQ(epoch_of(open_recipe(data.recipe())), epoch);
  }
  EXPECT_NE(epoch_of(first), epoch_of(second));
}

}  // namespace
}  // namespace headrace
