#include <gtest/gtest.h>
#include <headrace/tools/tools.h>

#include <fstream>

#include "format/testing/hdf5_files.h"
#include "tools/bench_pass.h"
#include "tools/json.h"
#include "tools/run_file_text.h"

namespace headrace {
namespace {

class Bench : public ::testing::Test {
 protected:
  Bench() {
    const testing::Hdf5Writer file(folder_.path("a.h5"));
    file.write("x", {.shape = {1000, 4}, .chunk = {100, 4}, .gzip = 4});
    run_.files = {folder_.path("a.h5")};
    run_.loader.batch_size = 64;
    run_.loader.shuffle = true;
    run_.loader.memory = 64 << 20;
  }
  Json measure(const BenchOptions& options) const {
    Loader loader(open(run_.files, run_.open), run_.loader);
    return Json::parse(bench(loader, options, {}).json);
  }
  TemporaryFolder folder_;
  RunConfig run_;
};

TEST_F(Bench, WhatIsSavedIsABaselineOfTheSameData) {
  Loader loader(open(run_.files, run_.open), run_.loader);
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
  const ToolResult result = bench(run_, {.epochs = 2}, {{50, 100}, run_.files, 2}, progress);
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

TEST_F(Bench, ARunAsTextLoadsAgain) {
  run_.open.fields = {{"a: b", "x"}};
  run_.open.sample_axes = 2;
  run_.open.broadcast = {{"label", "groups/y"}};
  run_.windows = WindowOptions{8, 4, 1, true};
  run_.loader.cache = CacheChoice::parse("/tmp/some cache");
  run_.loader.seed = 9;
  run_.loader.shuffle = Shuffle::kExact;
  run_.framework = "torch";
  std::ofstream(folder_.path("run.yaml")) << run_file_text(run_);
  const RunConfig again = load_run(folder_.path("run.yaml"));
  EXPECT_EQ(again.files, run_.files);
  EXPECT_EQ(again.open.fields[0].name, "a: b");
  EXPECT_EQ(again.open.sample_axes, 2U);
  ASSERT_EQ(again.open.broadcast.size(), 1U);
  EXPECT_EQ(again.open.broadcast[0].name, "label");
  EXPECT_EQ(again.open.broadcast[0].path, "groups/y");
  ASSERT_TRUE(again.windows);
  EXPECT_EQ(again.windows->length, 8U);
  EXPECT_EQ(again.windows->stride, std::uint64_t{4});
  EXPECT_EQ(again.windows->lookahead, 1U);
  EXPECT_TRUE(again.windows->across_files);
  EXPECT_EQ(again.loader.batch_size, 64U);
  EXPECT_EQ(again.loader.memory, std::uint64_t{64} << 20);
  EXPECT_EQ(again.loader.seed, 9U);
  EXPECT_EQ(again.loader.shuffle, run_.loader.shuffle);
  EXPECT_EQ(again.loader.cache.directory, "/tmp/some cache");
  EXPECT_EQ(again.framework, "torch");
}

TEST_F(Bench, ARunOfTokensAsTextLoadsAgain) {
  run_.windows = WindowOptions{.length = 8, .lookahead = 1};
  for (const TokenOptions& said : {TokenOptions{}, TokenOptions{.dtype = "u2", .vocab_size = 50257, .check = true}}) {
    run_.tokens = said;
    std::ofstream(folder_.path("run.yaml")) << run_file_text(run_);
    const RunConfig again = load_run(folder_.path("run.yaml"));
    ASSERT_TRUE(again.tokens);
    EXPECT_EQ(again.tokens->dtype, said.dtype);
    EXPECT_EQ(again.tokens->vocab_size, said.vocab_size);
    EXPECT_EQ(again.tokens->check, said.check);
  }
  run_.open.fields = {{"x", "x"}};
  std::ofstream(folder_.path("run.yaml")) << run_file_text(run_);
  EXPECT_THROW(load_run(folder_.path("run.yaml")), Error);
}

TEST_F(Bench, ARunOfPatchesAsTextLoadsAgain) {
  run_.open.fields = {{"raw", "volumes/raw"}, {"ids", "volumes/ids"}};
  for (const bool drawn : {true, false}) {
    PatchOptions& patches = run_.patches.emplace(PatchOptions{.shape = {64, 32, 16}});
    if (drawn)
      patches.samples_per_epoch = 1000, patches.skip_small = true;
    else
      patches.stride = {8, 9, 10}, patches.edge = PatchEdge::kFill, patches.fill = -1.5;
    std::ofstream(folder_.path("run.yaml")) << run_file_text(run_);
    const RunConfig again = load_run(folder_.path("run.yaml"));
    ASSERT_TRUE(again.patches);
    EXPECT_EQ(again.patches->shape, patches.shape);
    EXPECT_EQ(again.patches->samples_per_epoch, patches.samples_per_epoch);
    EXPECT_EQ(again.patches->stride, patches.stride);
    EXPECT_EQ(again.patches->edge, patches.edge);
    EXPECT_EQ(again.patches->fill, patches.fill);
    EXPECT_EQ(again.patches->skip_small, patches.skip_small);
    ASSERT_EQ(again.open.fields.size(), 2U);
    EXPECT_EQ(again.open.fields[1].path, "volumes/ids");
  }
}

}  // namespace
}  // namespace headrace
