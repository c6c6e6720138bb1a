#include <gtest/gtest.h>
#include <headrace/tools.h>

#include <fstream>

#include "dataset/recipe/data_tree.h"
#include "dataset/recipe/verb_options.h"
#include "format/testing/hdf5_files.h"
#include "tools/bench/bench_pass.h"
#include "tools/json.h"
#include "tools/runs/run_file_text.h"

namespace headrace {
namespace {

class Bench : public ::testing::Test {
 protected:
  Bench() {
    const testing::Hdf5Writer file(folder_.path("a.h5"));
    file.write("x", {.shape = {1000, 4}, .chunk = {100, 4}, .gzip = 4});
    run_.data = tree_of({folder_.path("a.h5")});
    run_.loader.batch = Samples{64};
    run_.loader.order = BlockShuffle{};
    run_.loader.memory = 64 << 20;
  }
  Json measure(const BenchOptions& options) const {
    Loader loader(open_run(run_), run_.loader);
    return Json::parse(bench(loader, options, {}).json);
  }
  TemporaryFolder folder_;
  RunConfig run_;
};

TEST_F(Bench, WhatIsSavedIsABaselineOfTheSameData) {
  Loader loader(open_run(run_), run_.loader);
  std::ofstream(folder_.path("before.json")) << bench(loader, {.epochs = 3}, {}).json;
  const Json again = Json::parse(bench(loader, {.epochs = 1}, {}, {folder_.path("before.json"), 0}).json);
  EXPECT_EQ(again["baseline"]["differs"], Json::array()) << again["baseline"];
}

TEST_F(Bench, FirstAndLaterEpochsAreApart) {
  const Json json = measure({.epochs = 3});
  EXPECT_EQ(json["schema"], "headrace-bench/1");
  EXPECT_EQ(json["samples"], 3000);
  const Json& round = json["contestants"][0]["rounds"][0];
  EXPECT_EQ(round["first"]["samples"], 1000);
  EXPECT_EQ(round["first"]["batches"], 16);
  EXPECT_EQ(round["later"]["samples"], 2000);
  EXPECT_TRUE(round["later"]["complete"]);
  for (const char* key : {"mean", "p50", "p99", "max"}) EXPECT_GT(round["later"]["batch_ms"][key], 0) << key;
  EXPECT_LE(round["later"]["batch_ms"]["p99"], round["later"]["batch_ms"]["max"]);
  EXPECT_GT(json["contestants"][0]["epoch_seconds"]["later"], 0);
  EXPECT_EQ(json["page_cache"]["files"], 1);
  EXPECT_FALSE(json["machine"]["cpu"].empty());
}

TEST_F(Bench, AnEpochIsCutShortAfterSoManyBatches) {
  const Json round = measure({.epochs = 2, .max_batches = 5})["contestants"][0]["rounds"][0];
  EXPECT_EQ(round["first"]["batches"], 5);
  EXPECT_EQ(round["first"]["samples"], 320);
  EXPECT_EQ(round["later"]["batches"], 5);
}

TEST_F(Bench, ATimeLimitLeavesTwoBatches) {
  const Json json = measure({.epochs = 1000000, .max_seconds = 1e-9});
  EXPECT_EQ(json["batches"], 2);
  EXPECT_TRUE(json["stopped_by_time"]);
  EXPECT_TRUE(json["contestants"][0]["later"].is_null());
}

TEST_F(Bench, BatchSizesAndValidationTakeTurns) {
  std::uint64_t last = 0;
  const auto progress = [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_EQ(total, 8U);
    return last = done, true;
  };
  const ToolResult result = bench(run_, {.epochs = 2}, {{50, 100}, {folder_.path("a.h5")}, 2}, progress);
  const Json json = Json::parse(result.json);
  ASSERT_EQ(json["contestants"].size(), 4U);
  EXPECT_EQ(json["contestants"][0]["batch_size"], 50);
  EXPECT_EQ(json["contestants"][1]["split"], "validation");
  EXPECT_EQ(json["contestants"][1]["title"], "Headrace, in order");
  EXPECT_EQ(json["contestants"][2]["batch_size"], 100);
  for (const Json& c : json["contestants"]) {
    ASSERT_EQ(c["rounds"].size(), 2U);
    EXPECT_EQ(c["rounds"][1]["first"]["samples"], 1000);
  }
  EXPECT_NE(result.text.find("batch 100"), std::string::npos) << result.text;
}

TEST_F(Bench, CanBeStopped) {
  const auto stop = [](std::uint64_t, std::uint64_t) { return false; };
  run_.loader.threads = 1;
  EXPECT_THROW(bench(run_, {.epochs = 1000000, .max_seconds = 600}, {{10}, {}, 1}, stop), Error);
}

/// Write the run down, read it again, and expect the same data.
RunConfig again_of(const RunConfig& run, const std::string& path) {
  std::ofstream(path) << run_file_text(run);
  RunConfig again = load_run(path);
  EXPECT_EQ(recipe_of(*again.data), recipe_of(*run.data)) << run_file_text(run);
  return again;
}

TEST_F(Bench, ARunAsTextLoadsAgain) {
  OpenOptions options{.fields = {{"a: b", "x"}}};
  options.sample_axes = 2;
  options.broadcast = {{"label", "groups/y"}, {"other", "y", 2}};
  run_.data = node_of(WindowOptions{8, 4, 1, true}, tree_of({folder_.path("a.h5")}, options));
  run_.loader.cache = CacheChoice::parse("/tmp/some cache");
  run_.loader.seed = 9;
  run_.loader.order = ExactShuffle{};
  run_.framework = "torch";
  const RunConfig again = again_of(run_, folder_.path("run.yaml"));
  EXPECT_EQ(std::get<Samples>(again.loader.batch).size, 64U);
  EXPECT_EQ(again.loader.memory, std::uint64_t{64} << 20);
  EXPECT_EQ(again.loader.seed, 9U);
  EXPECT_TRUE(again.loader.order.is<ExactShuffle>());
  EXPECT_EQ(again.loader.cache.directory, "/tmp/some cache");
  EXPECT_EQ(again.framework, "torch");
}

TEST_F(Bench, ARunOfAnyDataAsTextLoadsAgain) {
  const DataTree rows = tree_of({"/a.h5", "/b c.h5"}, {.fields = {{"x", "x"}}});
  const std::vector<std::uint64_t> few{3, 5, 6, 7, 90};
  const DataTree chosen = node_of(SelectNode{std::make_shared<const RowSet>(91, few)}, rows);
  SpansNode spans;
  spans.key = tree_of({"/a.h5"}), spans.targets = rows;
  OpenOptions events;
  events.sample_by = SampleBy{.meta = "/meta.parquet", .first = "f", .end = "e"};
  for (const DataTree& tree :
       {node_of(DocumentsNode{}, node_of(TokensNode{{"/t.npy"}, {.dtype = "u2", .vocab_size = 50257, .check = true}})),
        node_of(WindowOptions{.length = 8}, node_of(TokensNode{{"/t.npy"}, {}})), chosen,
        node_of(
            PatchOptions{.shape = {64}, .samples_per_epoch = 9, .skip_small = true, .balance = {{"m", {}}, {"l", 2}}},
            node_of(VolumeNode{{"/v"}, {{{"raw", "volumes/raw"}}}})),
        node_of(PatchOptions{.shape = {8, 9},
        .stride = {8, 9},
        .edge = PatchEdge::kFill,
        .fill = -1.5,
        .context = {{"far", {}}, {"near", {4, 4}}}},
                node_of(VolumeNode{{"/v"}, {}})),
        node_of(ChooseNode{{"x"}}, node_of(SplitNode{{{"train", 0.9}, {"val", 0.1}}, "val", 7, "y"}, chosen)),
        node_of(MapNode{{{"Log", {"x"}, {{"base", 2.0}}}, {"Affine", {"x"}, {{"scale", std::vector<double>{1, 2.5}}}}}},
                rows),
        node_of(MixNode{{{"a", chosen, 2}, {"b", rows, 1}}, {.temperature = 2, .stop = MixStop::kAll}}),
        node_of(std::move(spans), rows), tree_of({"/e.h5"}, events),
        node_of(SelectNode{std::make_shared<const RowSet>(6, std::vector<std::uint64_t>{5})}, chosen)}) {
    run_.data = tree;
    again_of(run_, folder_.path("run.yaml"));
  }
}

}  // namespace
}  // namespace headrace
