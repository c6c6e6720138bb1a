#include <gtest/gtest.h>
#include <headrace/tools.h>

#include "dataset/testing/fake_source.h"
#include "tools/json.h"

namespace headrace {
namespace {

using testing::fake_dataset;

TEST(Order, SaysHowWellEachOrderMixes) {
  const Dataset data = fake_dataset({4096, 4096}, {{4000, 32}});
  const auto effect = [&](const Order& mixed) {
    const Loader loader(data, {.batch = Samples{128}, .order = mixed});
    return Json::parse(order(loader, {}).json)["global"]["block_effect"].get<double>();
  };
  EXPECT_NEAR(effect(InOrder{}), 32.0, 1.0);  // four whole blocks a batch
  EXPECT_NEAR(effect(ExactShuffle{}), 1.0, 0.15);
  const double mixed = effect(BlockShuffle{});
  EXPECT_GT(mixed, 0.9);
  EXPECT_LT(mixed, 8.0);
}

TEST(Order, ScreenPictureAndDataAgree) {
  const Dataset data = fake_dataset({4096, 4096}, {{1000, 32}, {1, 32}});
  const Loader loader(data, {.batch = Samples{64}, .order = BlockShuffle{{4, 2, 0}}, .rank = 0, .world_size = 2});
  const ToolResult result = order(loader, {.by = "a1", .epoch = 3});
  const Json json = Json::parse(result.json);
  EXPECT_EQ(json["global_batch"], 128);
  EXPECT_EQ(json["world_size"], 2);
  EXPECT_EQ(json["label"]["name"], "a1");
  EXPECT_EQ(json["in_a_row"]["batch_rows"], 16 * 128);
  EXPECT_GT(json["in_a_row"]["block_effect"], 2 * json["global"]["block_effect"].get<double>()) << "the same blocks";
  EXPECT_NE(result.text.find("for the 64 samples of rank 0"), std::string::npos) << result.text;
  EXPECT_GE(json["choices"].size(), 2U);
  for (const char* part : {"DEFF", "LABEL", "MEMORY", "DO", "batch "})
    EXPECT_NE(result.text.find(part), std::string::npos);
  EXPECT_TRUE(result.plot.starts_with("<svg"));
  EXPECT_TRUE(result.plot.ends_with("</svg>\n"));
}

TEST(Order, ATrainingUserKnowsTheWords) {
  const Dataset data = fake_dataset({4096, 4096}, {{1000, 32}, {1, 32}});
  const ToolResult result = order(Loader(data, {.batch = Samples{64}, .order = BlockShuffle{}}), {.by = "a1"});
  EXPECT_NE(result.text.find("independent draws: "), std::string::npos) << result.text;
  for (const char* words : {"by chance", "a training sees", "are of one block"})
    EXPECT_EQ(result.text.find(words), std::string::npos) << words << "\n" << result.text;
}

TEST(Order, ALabelThatIsNoneIsRefused) {
  const Dataset data = fake_dataset({100}, {{4, 10}});
  const Loader loader(data, {.batch = Samples{10}, .order = BlockShuffle{}});
  EXPECT_THROW((void)order(loader, {.by = "nothing"}), Error);
}

}  // namespace
}  // namespace headrace
