#include <headrace/tools.h>

#include <gtest/gtest.h>

#include <algorithm>

#include "dataset/testing/mapped_data.h"
#include "format/testing/hdf5_files.h"
#include "tools/json.h"

namespace headrace {
namespace {

using testing::Hdf5Writer;

/// Two files of 60 rows of 3 numbers: element i of a file is i.
std::vector<std::string> write_files(const TemporaryFolder& folder) {
  std::vector<std::string> paths;
  for (const char* name : {"a.h5", "b.h5"}) {
    paths.push_back(folder.path(name));
    Hdf5Writer(paths.back()).write("x", {.shape = {60, 3}, .chunk = {10, 3}, .gzip = 1});
  }
  return paths;
}

TEST(Replay, TellsRowsFilesAndValuesOfABatch) {
  const TemporaryFolder folder;
  const Loader loader(open(write_files(folder)), {.batch = Samples{50}, .order = BlockShuffle{}, .seed = 3});
  const ToolResult result = replay(loader, {4, 1});
  const Batch batch = loader.batch(4, 1);
  const auto values = batch["x"].as<std::int32_t>();
  const Json json = Json::parse(result.json);
  EXPECT_EQ(json["epoch"], 4);
  EXPECT_EQ(json["step"], 1);
  EXPECT_EQ(json["num_steps"], 3);
  EXPECT_EQ(json["first_sample"], 50);
  ASSERT_EQ(json["samples"].size(), 50u);
  std::int32_t least = values[0], most = values[0];
  double sum = 0;
  for (std::size_t i = 0; i < 50; ++i) {
    const Json& sample = json["samples"][i];
    EXPECT_EQ(sample["row"].get<std::int32_t>() * 3, values[3 * i]);
    EXPECT_EQ(sample["dataset_row"].get<int>(), sample["file"].get<int>() * 60 + sample["row"].get<int>());
    for (std::size_t j = 0; j < 3; ++j) {
      least = std::min(least, values[3 * i + j]);
      most = std::max(most, values[3 * i + j]);
      sum += values[3 * i + j];
    }
  }
  EXPECT_EQ(json["files"]["1"], folder.path("b.h5"));
  const Json& x = json["fields"]["x"];
  EXPECT_EQ(x["least"], least);
  EXPECT_EQ(x["most"], most);
  EXPECT_DOUBLE_EQ(x["mean"].get<double>(), sum / 150);
  const std::size_t extreme = x["farthest_from_0"]["sample"];
  EXPECT_EQ(*std::max_element(&values[3 * extreme], &values[3 * extreme] + 3), most);
  EXPECT_FALSE(result.findings);
  EXPECT_NE(result.text.find("epoch 4, step 1 of 3"), std::string::npos) << result.text;
  EXPECT_NE(result.text.find("b.h5"), std::string::npos) << result.text;
}

TEST(Replay, OfARankIsItsShare) {
  const TemporaryFolder folder;
  const Dataset data = open(write_files(folder));
  Json joined = Json::array();
  for (const std::uint32_t rank : {0u, 1u}) {
    const Loader loader(data, {.batch = GlobalSamples{50}, .order = BlockShuffle{}, .rank = rank, .world_size = 2});
    const Json json = Json::parse(replay(loader, {0, 2}).json);
    EXPECT_EQ(json["rank"], rank);
    for (const Json& sample : json["samples"]) joined.push_back(sample);
  }
  const Loader whole(data, {.batch = GlobalSamples{50}, .order = BlockShuffle{}});
  EXPECT_EQ(joined, Json::parse(replay(whole, {0, 2}).json)["samples"]);
}

// What `_group.offsets` has is one number more than there are samples, and of no sample.
TEST(Replay, OfGroupsOfOneRowEach) {
  const TemporaryFolder folder;
  const Loader loader(open(write_files(folder)).select(std::vector<std::uint64_t>{0, 60}),
                      {.batch = Groups{.by = "file", .max_items = 5}});
  const ToolResult result = replay(loader, {0, 0});
  const Json json = Json::parse(result.json);
  ASSERT_EQ(json["samples"].size(), 2u);
  EXPECT_EQ(json["fields"]["_group.offsets"]["shape"], Json::array({3}));
  EXPECT_EQ(json["fields"]["_group.offsets"]["farthest_from_0"], (Json{{"sample", nullptr}, {"value", 2}}));
  EXPECT_EQ(json["fields"]["_group"]["farthest_from_0"], (Json{{"sample", 1}, {"value", 1}}));
  EXPECT_NE(result.text.find("2, entry 2"), std::string::npos) << result.text;
}

TEST(Replay, OfSamplesThatAreNotRows) {
  const testing::Events events(testing::heavy_tailed(60, 1));
  const Loader loader(*events.data, {.batch = Samples{16}, .order = BlockShuffle{}});
  const ToolResult result = replay(loader, {0, 1});
  const Batch batch = loader.batch(0, 1);
  const Json json = Json::parse(result.json);
  ASSERT_EQ(json["samples"].size(), 16u);
  for (const char* field : {"pulse0", "pulse1", "label0"}) {
    const Json& found = json["fields"][field];
    const std::size_t f = field[0] == 'l' ? 2 : field[5] - '0';
    ASSERT_EQ(batch.fields()[f].name, field);
    EXPECT_EQ(found["shape"][0], batch.array(f).rows());
    const std::size_t sample = found["farthest_from_0"]["sample"], width = batch.array(f).shape().back();
    const auto values = batch.array(f).as<std::uint32_t>();
    const std::size_t first = f == 2 ? sample * width : static_cast<std::size_t>(batch.offsets(f)[sample]) * width;
    const std::size_t end = f == 2 ? first + width : static_cast<std::size_t>(batch.offsets(f)[sample + 1]) * width;
    const double most = *std::ranges::max_element(values);
    EXPECT_EQ(found["farthest_from_0"]["value"], most);
    EXPECT_EQ(*std::max_element(values.begin() + static_cast<std::ptrdiff_t>(first),
                                values.begin() + static_cast<std::ptrdiff_t>(end)),
              most);
  }
}

TEST(Replay, NoSuchBatch) {
  const TemporaryFolder folder;
  const Loader loader(open(write_files(folder)), {.batch = Samples{50}});
  EXPECT_THROW(replay(loader, {0, 3}), Error);
}

}  // namespace
}  // namespace headrace
