#include <gtest/gtest.h>
#include <headrace/tools.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "dataset/recipe/data_tree.h"
#include "dataset/recipe/verb_options.h"
#include "format/testing/hdf5_files.h"
#include "storage/testing/late_calls.h"
#include "tools/advise/advice.h"
#include "tools/json.h"

namespace headrace {
namespace {

constexpr AdviseOptions kQuick{0, 0.05};

class Advise : public ::testing::Test {
 protected:
  void write(const testing::Hdf5Writer::Array& x) {
    const testing::Hdf5Writer file(directory_.path("a.h5"));
    file.write("x", x);
    file.write("y", {.shape = {x.shape[0]}, .chunk = {std::min<hsize_t>(512, x.shape[0])}});
    run_.data = tree_of({directory_.path("a.h5")});
    run_.loader.batch = Samples{100};
    run_.loader.order = BlockShuffle{};
  }
  TemporaryFolder directory_;
  RunConfig run_;
};

TEST_F(Advise, ARunFileThatLoadsComesOfIt) {
  write({.shape = {4096, 64}, .chunk = {128, 64}, .gzip = 4});
  run_.data = tree_of({directory_.path("a.h5")}, {.fields = {{"features", "x"}, {"y", "y"}}});
  run_.loader.seed = 7;
  run_.loader.memory = 32 << 20;
  const ToolResult result = advise(run_, kQuick);
  std::ofstream(directory_.path("run.yaml")) << result.run_file;
  const RunConfig again = load_run(directory_.path("run.yaml"));
  EXPECT_EQ(recipe_of(*again.data), recipe_of(*run_.data));
  EXPECT_EQ(std::get<Samples>(again.loader.batch).size, 100u);
  EXPECT_EQ(again.loader.seed, 7u);
  EXPECT_TRUE(again.loader.order.is<BlockShuffle>());
  EXPECT_EQ(again.loader.memory, std::uint64_t{32} << 20);
  const Json json = Json::parse(result.json);
  EXPECT_EQ(again.loader.threads, json["advised"]["threads"]);
  EXPECT_GT(json["advised"]["warm_samples_per_second"], 0);
  EXPECT_EQ(json["rewriting"]["codecs"].size(), 3u) << result.text;
  EXPECT_EQ(json["presets"].size(), 3u);
}

TEST_F(Advise, SaysHowLateFilesAnswerAndWhatThatFeeds) {
  write({.shape = {4096, 64}, .chunk = {128, 64}, .gzip = 4});
  const Json quick = Json::parse(advise(run_, kQuick).json);
  EXPECT_FALSE(quick["measured"]["files_answer_late"]);
  const testing::LateCalls calls(
      [](std::uint64_t, std::string_view) { return testing::LateCalls::Answer{std::chrono::milliseconds(5)}; });
  run_.loader.reads_in_flight = 8;
  const ToolResult late = advise(run_, kQuick);
  const Json measured = Json::parse(late.json)["measured"];
  EXPECT_TRUE(measured["files_answer_late"]);
  EXPECT_GE(measured["seconds_a_read"], 5e-3);
  EXPECT_EQ(measured["cold_reads_at_once"], 8);
  EXPECT_NE(late.text.find("It answers late"), std::string::npos) << late.text;
}

TEST_F(Advise, TargetsFarAboveAndFarBelow) {
  write({.shape = {4096, 64}, .chunk = {128, 64}, .gzip = 4});
  const Json easy = Json::parse(advise(run_, {1, 0.05}).json);
  EXPECT_TRUE(easy["target"]["reached"]);
  EXPECT_EQ(easy["advised"]["threads"], 1) << "the fewest that reach it";
  const ToolResult hard = advise(run_, {1e12, 0.05});
  EXPECT_FALSE(Json::parse(hard.json)["target"]["reached"]);
  EXPECT_NE(hard.text.find("such processors would reach it"), std::string::npos) << hard.text;
}

TEST(PermutingIsFree, WhereAllRowsAreInMemoryAndNothingElseWasAskedFor) {
  using Kind = CacheAdvice::Kind;
  EnginePlan plan;
  plan.is_shuffled = true;
  plan.shape = BlockShuffleShape{512, 1};
  EXPECT_TRUE(permuting_is_free(Kind::kAllInMemory, plan, {}));
  EXPECT_FALSE(permuting_is_free(Kind::kPart, plan, {}));
  EXPECT_FALSE(permuting_is_free(Kind::kAllInMemory, plan, {.bytes = 64 << 20}));
  plan.shape.reset();  // they are permuted anyway
  EXPECT_FALSE(permuting_is_free(Kind::kAllInMemory, plan, {}));
  plan.is_shuffled = false;
  EXPECT_FALSE(permuting_is_free(Kind::kAllInMemory, plan, {}));
}

TEST_F(Advise, FilesOfEveryKindAreMeasured) {
  for (const testing::Hdf5Writer::Array& x : {testing::Hdf5Writer::Array{.shape = {1000, 8}},
                                              {.shape = {1000, 8}, .chunk = {1000, 8}, .gzip = 1},
                                              {.shape = {1000, 8}, .chunk = {64, 3}},
                                              {.shape = {1000, 8}, .chunk = {64, 8}, .converted = true},
                                              {.shape = {1000, 8}, .chunk = {64, 8}, .gzip = 1, .unwritten = true},
                                              {.shape = {1, 1}, .chunk = {1, 1}}}) {
    write(x);
    for (const Order& shuffle : {Order(InOrder{}), Order(BlockShuffle{}), Order(ExactShuffle{})}) {
      run_.loader.order = shuffle;
      const ToolResult result = advise(run_, kQuick);
      EXPECT_GT(Json::parse(result.json)["advised"]["warm_samples_per_second"], 0) << result.text;
    }
  }
}

TEST_F(Advise, TheNextCommandMeasuresTheSameWork) {
  write({.shape = {4096, 64}, .chunk = {128, 64}, .gzip = 4});
  run_.data = tree_of({directory_.path("a.h5")}, {.fields = {{"features", "x"}}});
  run_.loader.order = InOrder{};
  const std::string given = Json::parse(advise(run_, kQuick).json)["next"][0];
  EXPECT_NE(given.find("--fields 'features=x'"), std::string::npos) << given;
  EXPECT_NE(given.find("--no-shuffle"), std::string::npos) << given;
  const std::string path = directory_.path("run.yaml");
  std::ofstream(path) << advise(run_, kQuick).run_file;
  RunConfig file = load_run(path);
  file.loader.batch = Samples{50};
  const std::string next = Json::parse(advise(file, kQuick).json)["next"][0];
  EXPECT_NE(next.find("headrace bench '" + path + "' --batch-size 50 --threads"), std::string::npos) << next;
}

TEST_F(Advise, EpochsAreAskedForOrAssumedAloud) {
  write({.shape = {4096, 64}, .chunk = {128, 64}, .gzip = 4});
  const ToolResult assumed = advise(run_, kQuick);
  EXPECT_NE(assumed.text.find("(assumed; set the number with --epochs)"), std::string::npos) << assumed.text;
  const ToolResult asked = advise(run_, {0, 0.05, 3});
  EXPECT_EQ(asked.text.find("assumed"), std::string::npos) << asked.text;
  const Json settings = Json::parse(asked.json)["advised"];
  const auto first = static_cast<std::uint64_t>(std::llround(settings["first_epoch_samples_per_second"].get<double>()));
  EXPECT_NE(asked.run_file.find(std::to_string(first) + " samples/s in a first epoch"), std::string::npos);
}

TEST(LimitText, NamesOnlyStepsThatAreFaster) {
  Advice a;
  a.probe.one.rows_per_s = 1'470'000;
  Forecast& f = a.advised.forecast;
  f.warm = 1'400'000, f.cold = 34'000, f.warm_read_limit = 2'000'000, f.cold_read_limit = 34'800, f.move_limit = 9e6;
  f.warm_bottleneck = f.cold_bottleneck = Bottleneck::kReading;
  const std::string text = limit_text(a), faster = "alone would be faster: copying rows into batches 9,000,000.";
  EXPECT_NE(text.find(faster), std::string::npos) << text;
  EXPECT_NE(text.find("at most 34,800 samples/s"), std::string::npos) << text;
}

TEST_F(Advise, DamageIsToldAndTheRestMeasured) {
  write({.shape = {4096, 64}, .chunk = {128, 64}, .gzip = 4});
  const auto [offset, size] = testing::chunk_place(directory_.path("a.h5"), "x", 640, 2);
  testing::flip_byte(directory_.path("a.h5"), offset);  // the stream's header
  const ToolResult result = advise(run_, kQuick);
  EXPECT_NE(result.text.find("headrace verify lists all of it"), std::string::npos) << result.text;
}

TEST_F(Advise, ABudgetThatHoldsNothingIsAnError) {
  write({.shape = {4096, 64}, .chunk = {128, 64}, .gzip = 4});
  run_.loader.memory = 1000;
  EXPECT_THROW(advise(run_, kQuick), Error);
}

TEST(ParseRate, AsPeopleWriteThem) {
  EXPECT_DOUBLE_EQ(parse_rate("20000"), 20000);
  EXPECT_DOUBLE_EQ(parse_rate("20,000 / s"), 20000);
  EXPECT_DOUBLE_EQ(parse_rate("20k/s"), 20000);
  EXPECT_DOUBLE_EQ(parse_rate("1.5M"), 1.5e6);
  for (const char* wrong : {"", "fast", "-1", "0", "5/h", "nan", "inf", "1e999"})
    EXPECT_THROW(parse_rate(wrong), Error) << wrong;
}

}  // namespace
}  // namespace headrace
