// Advice of samples that are made of rows or of cells.
#include <gtest/gtest.h>
#include <headrace/mix.h>
#include <headrace/spans.h>
#include <headrace/tools.h>
#include <headrace/volumes.h>
#include <headrace/windows.h>

#include <fstream>
#include <map>

#include "format/testing/hdf5_files.h"
#include "tools/advise/advice.h"
#include "tools/json.h"

namespace headrace {
namespace {

constexpr AdviseOptions kBrief{0, 0.05};

class MappedAdvise : public ::testing::Test {
 protected:
  MappedAdvise() {
    for (const char* name : {"a.h5", "b.h5"}) {
      const testing::Hdf5Writer file(directory_.path(name));
      file.write("x", {.shape = {4096, 8}, .chunk = {128, 8}, .gzip = 1});
      file.write("raw", {.shape = {32, 32, 32}, .chunk = {16, 16, 16}, .gzip = 1});
      file.write("plain", {.shape = {32, 32, 32}});
    }
  }
  [[nodiscard]] Dataset rows(const char* name = "a.h5") const {
    return open(directory_.path(name), {.fields = {{"x", ""}}});
  }
  [[nodiscard]] Dataset events(const char* name = "a.h5") const {
    std::vector<std::uint64_t> offsets;
    for (std::uint64_t row = 0; row < 4096; row += 1 + row % 7) offsets.push_back(row);
    return spans(rows(name), {.offset_list = std::move(offsets)});
  }
  [[nodiscard]] Dataset boxes(const char* field, PatchOptions options, const char* name = "a.h5") const {
    return patches(open_volumes({directory_.path(name)}, {.fields = {{field, ""}}}), options);
  }
  [[nodiscard]] static RunConfig run_of(const Dataset& data) {
    RunConfig run;
    run.data = data.tree();
    run.loader.batch = Samples{10};
    run.loader.order = BlockShuffle{};
    run.loader.memory = 32 << 20;
    run.loader.threads = 1;
    return run;
  }
  const PatchOptions grid_{.shape = {8, 8, 8}, .stride = {8, 8, 8}},
      drawn_{.shape = {8, 8, 8}, .samples_per_epoch = 50};
  const TemporaryFolder directory_;
};

TEST_F(MappedAdvise, OfEveryKindARunFileThatLoads) {
  const std::map<std::string, Dataset> kinds = {
      {"windows", windows(rows(), {.length = 16})},
      {"overlapping windows", windows(rows(), {.length = 16, .stride = 4})},
      {"events", events()},
      {"grid", boxes("raw", grid_)},
      {"drawn", boxes("raw", drawn_)},
      {"plain", boxes("plain", drawn_)},
      {"mixed windows",
       mix({{"a", windows(rows(), {.length = 16}), 1}, {"b", windows(rows("b.h5"), {.length = 16}), 3}})},
      {"mixed events", mix({{"a", events(), 1}, {"b", events("b.h5"), 3}})},
      {"mixed grids", mix({{"a", boxes("raw", grid_), 1}, {"b", boxes("raw", grid_, "b.h5"), 3}})}};
  for (const auto& [name, data] : kinds) {
    SCOPED_TRACE(name);
    const ToolResult result = advise(run_of(data), kBrief);
    const Json json = Json::parse(result.json), advised = json["advised"];
    EXPECT_EQ(json["data"]["samples"], data.size());
    EXPECT_GT(advised["warm_samples_per_second"], 0) << result.text;
    EXPECT_GT(json["measured"]["gather_samples_per_second"], 0);
    EXPECT_EQ(json["presets"].size(), 3u);
    const std::string path = directory_.path("run.yaml");
    std::ofstream(path) << result.run_file;
    const RunConfig again = load_run(path);
    EXPECT_EQ(again.loader.threads, advised["threads"]);
    Loader loader(open_run(again), again.loader);  // takes the advised cache
    std::uint64_t samples = 0;
    for (const Batch& batch : loader) samples += batch.rows();
    EXPECT_EQ(samples, loader.epoch_samples());
  }
}

TEST_F(MappedAdvise, RowsInSeveralWindowsAreStoredOnce) {
  const auto facts = [](const Dataset& data) { return Json::parse(advise(run_of(data), kBrief).json)["data"]; };
  const Json once = facts(windows(rows(), {.length = 16})), often = facts(windows(rows(), {.length = 16, .stride = 4}));
  EXPECT_EQ(once["decoded_bytes"], 4096u * 8 * 4);
  EXPECT_EQ(often["decoded_bytes"], once["decoded_bytes"]);
  EXPECT_EQ(often["stored_bytes"], once["stored_bytes"]);
  EXPECT_EQ(often["sample_bytes"], 16u * 8 * 4);
  EXPECT_EQ(facts(boxes("raw", grid_))["decoded_bytes"], 32u * 32 * 32 * 4);
}

TEST_F(MappedAdvise, NoCacheOfWhatIsNotDecoded) {
  EXPECT_EQ(Json::parse(advise(run_of(boxes("plain", drawn_)), kBrief).json)["advised"]["cache_kind"], "none");
}

TEST_F(MappedAdvise, OfRewritingWhereThatIsThere) {
  const ToolResult of_rows = advise(run_of(windows(rows(), {.length = 16})), kBrief),
                   of_cells = advise(run_of(boxes("raw", grid_)), kBrief);
  EXPECT_EQ(Json::parse(of_rows.json)["rewriting"]["codecs"].size(), 3u) << of_rows.text;
  EXPECT_NE(of_rows.text.find("REWRITING"), std::string::npos);
  EXPECT_TRUE(Json::parse(of_cells.json)["rewriting"].is_null());
  EXPECT_EQ(of_cells.text.find("REWRITING"), std::string::npos) << of_cells.text;
  EXPECT_EQ(of_cells.text.find("rewrite"), std::string::npos) << of_cells.text;
}

TEST_F(MappedAdvise, DamageIsTold) {
  const auto [offset, size] = testing::chunk_place(directory_.path("a.h5"), "x", 0, 2);
  testing::flip_byte(directory_.path("a.h5"), offset);
  RunConfig run = run_of(windows(rows(), {.length = 16}));
  run.loader.order = InOrder{};
  EXPECT_THROW(advise(run, kBrief), Error) << "no batch can be had";
}

}  // namespace
}  // namespace headrace
