#include <gtest/gtest.h>
#include <headrace/base/bytes.h>
#include <headrace/tools/tools.h>

#include <nlohmann/json.hpp>

#include "base/memory_limits.h"
#include "format/testing/hdf5_files.h"
#include "tools/memory_breakdown.h"

namespace headrace {
namespace {

using Json = nlohmann::json;

class CheckMemory : public ::testing::Test {
 protected:
  CheckMemory() {
    const testing::Hdf5Writer file(directory_.path("a.h5"));
    file.write("x", {.shape = {4096, 64}, .chunk = {128, 64}, .gzip = 1});
    file.write("y", {.shape = {4096}});
    run_.files = {directory_.path("a.h5")};
    run_.loader.batch_size = 256;
    run_.loader.shuffle = true;
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
  for (const char* words : {"VERDICT", "RULE", "/dev/shm", "Headrace needs none", "balanced", "TURN", "torch"})
    EXPECT_NE(result.text.find(words), std::string::npos) << words << "\n" << result.text;
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
  run_.loader.batch_size = 0;
  EXPECT_THROW(check_memory(run_), Error);
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
