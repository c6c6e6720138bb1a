#include <gtest/gtest.h>
#include <headrace/bytes.h>
#include <headrace/tools.h>

#include "base/machine/memory_limits.h"
#include "format/testing/hdf5_files.h"
#include "tools/json.h"
#include "tools/memory/memory_breakdown.h"

namespace headrace {
namespace {

class CheckMemory : public ::testing::Test {
 protected:
  CheckMemory() {
    const testing::Hdf5Writer file(directory_.path("a.h5"));
    file.write("x", {.shape = {4096, 64}, .chunk = {128, 64}, .gzip = 1});
    file.write("y", {.shape = {4096}});
    run_.data = tree_of({directory_.path("a.h5")});
    run_.loader.batch = Samples{256};
    run_.loader.order = BlockShuffle{};
  }
  TemporaryFolder directory_;
  RunConfig run_;
};

TEST_F(CheckMemory, ASmallSetFitsAndTheTotalIsTheSum) {
  const ToolResult result = check_memory(run_);
  const Json json = Json::parse(result.json);
  EXPECT_EQ(result.exit_status, 0) << result.text;
  EXPECT_EQ(json["verdict"], "fits");
  std::uint64_t sum = 0;
  for (const Json& c : json["components"]) sum += c["bytes"].get<std::uint64_t>();
  EXPECT_EQ(json["total_bytes"], sum);
  EXPECT_EQ(json["presets"].size(), 3u);
  EXPECT_EQ(json["presets"][0]["kept_share"], 1.0) << "1 MiB of data fits anywhere";
  std::uint64_t ruling = 0;
  for (const Json& l : json["limits"]) ruling += l["rules"].get<bool>();
  EXPECT_EQ(ruling, 1u);
  for (const char* words :
       {"VERDICT", "LIMIT", "/dev/shm", "Headrace needs none", "balanced", "this limit decides", "\nDO ", "torch"})
    EXPECT_NE(result.text.find(words), std::string::npos) << words << "\n" << result.text;
}

TEST_F(CheckMemory, AnotherMachineIsJudgedByItsMemoryAlone) {
  constexpr std::uint64_t kMachine = std::uint64_t{1} << 40;
  const ToolResult large = check_memory(run_, {kMachine});
  const Json json = Json::parse(large.json);
  EXPECT_EQ(json["machine_memory_bytes"], kMachine);
  EXPECT_EQ(json["budget_bytes"].get<std::uint64_t>(), kMachine / 5 * 3);
  ASSERT_EQ(json["limits"].size(), 1u);
  EXPECT_EQ(large.exit_status, 0);
  EXPECT_NE(large.text.find("a machine with 1.00 TiB"), std::string::npos) << large.text;
  EXPECT_EQ(large.text.find("/dev/shm"), large.text.find("/dev/shm, and about")) << "that of this machine says nothing";
  const std::uint64_t needed = json["total_bytes"];
  EXPECT_EQ(check_memory(run_, {needed * 2}).exit_status, 0);
  run_.loader.memory = needed;
  EXPECT_EQ(check_memory(run_, {needed * 10 / 8}).exit_status, 10);
  EXPECT_EQ(check_memory(run_, {needed}).exit_status, 11);
  EXPECT_TRUE(Json::parse(check_memory(run_).json)["machine_memory_bytes"].is_null());
}

TEST_F(CheckMemory, TransformsCountByWhatTheyMake) {
  const Dataset data = open_run(run_);
  const Dataset wide = data.map({{"Cast", {"x"}, {{"dtype", std::string("float64")}}}});
  const auto batches = [&](const Dataset& of) {
    const Json json = Json::parse(check_memory(of, run_.loader).json);
    return json["components"][0]["bytes"].get<std::uint64_t>();
  };
  EXPECT_NEAR(static_cast<double>(batches(wide)) / static_cast<double>(batches(data)), 129.0 / 65, 0.2);
}

TEST_F(CheckMemory, TellsWhatIsTakenAtFirstFromWhatTheCacheAddsLater) {
  const Json json = Json::parse(check_memory(run_).json);
  std::uint64_t cache = 0;
  for (const Json& c : json["components"]) cache += c["name"] == "cache" ? c["bytes"].get<std::uint64_t>() : 0;
  ASSERT_GT(cache, std::uint64_t{4096} * 65 * 4) << "all rows fit";
  EXPECT_EQ(json["first_bytes"].get<std::uint64_t>(), json["total_bytes"].get<std::uint64_t>() - cache);
  const ToolResult result = check_memory(run_);
  EXPECT_NE(result.text.find("at first"), std::string::npos) << result.text;
  EXPECT_NE(result.text.find("fills up in the first epoch"), std::string::npos) << result.text;

  run_.loader.cache = {CacheChoice::kRam, {}};  // there before the first batch
  const ToolResult ram = check_memory(run_);
  EXPECT_EQ(Json::parse(ram.json)["first_bytes"], Json::parse(ram.json)["total_bytes"]);
  EXPECT_EQ(ram.text.find("at first"), std::string::npos) << ram.text;
}

TEST_F(CheckMemory, ABudgetThatHoldsNothingNamesTheSmallestThatWould) {
  run_.loader.memory = 1024;
  const ToolResult result = check_memory(run_);
  const Json json = Json::parse(result.json);
  EXPECT_EQ(result.exit_status, 11);
  const std::uint64_t smallest = json["smallest_budget_bytes"];
  EXPECT_NE(result.text.find("cannot be made"), std::string::npos) << result.text;
  run_.loader.memory = smallest;
  EXPECT_EQ(check_memory(run_).exit_status, 0);
  run_.loader.memory = smallest - (16 << 10);
  EXPECT_EQ(check_memory(run_).exit_status, 11);
}

TEST_F(CheckMemory, ABudgetBeyondTheMachineDoesNotFit) {
  run_.loader.memory = std::uint64_t{900'000'000'000'000};
  const ToolResult result = check_memory(run_);
  EXPECT_EQ(result.exit_status, 10) << result.text;
  EXPECT_EQ(Json::parse(result.json)["verdict"], "tight");
  EXPECT_NE(result.text.find("more than there is"), std::string::npos) << result.text;
}

TEST_F(CheckMemory, WrongSettingsAreErrorsNotVerdicts) {
  run_.loader.batch = Samples{0};
  EXPECT_THROW(check_memory(run_), Error);
}

TEST_F(CheckMemory, ATrainingUserKnowsTheWords) {
  const ToolResult result = check_memory(run_);
  for (const char* words : {"who wants", "with you", "nobody", "beside the budget", "rules, "})
    EXPECT_EQ(result.text.find(words), std::string::npos) << words << "\n" << result.text;
}

TEST(Fit, TightAndKilledBeginWhereTheySay) {
  EXPECT_EQ(judge_fit(70, 100), Fit::kFits);
  EXPECT_EQ(judge_fit(71, 100), Fit::kTight);
  EXPECT_EQ(judge_fit(90, 100), Fit::kTight);
  EXPECT_EQ(judge_fit(91, 100), Fit::kKilled);
  EXPECT_EQ(judge_fit(1, 0), Fit::kKilled);
  EXPECT_EQ(exit_status_of(Fit::kFits), 0);
  EXPECT_EQ(exit_status_of(Fit::kTight), 10);
  EXPECT_EQ(exit_status_of(Fit::kKilled), 11);
}

}  // namespace
}  // namespace headrace
