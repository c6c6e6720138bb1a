#include "tools/bench/bench_report.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/testing/temporary_folder.h"
#include "tools/bench/bench_pass.h"

namespace headrace {
namespace {

Json pass(double rate, double mean_ms = 5) {
  return {{"samples", 1000},
          {"samples_per_second", rate},
          {"first_batch_seconds", 0.25},
          {"batch_ms", {{"mean", mean_ms}, {"p50", mean_ms}, {"p99", 2 * mean_ms}, {"max", 3 * mean_ms}}},
          {"complete", true}};
}

/// Rounds from pairs of rates; 0: the pass was not measured.
Json contestant(const std::string& name, const std::string& title,
                const std::vector<std::pair<double, double>>& rates) {
  Json c = {{"name", name}, {"title", title}, {"batch_size", 512}, {"samples", 10000}, {"rounds", Json::array()}};
  for (std::size_t i = 0; i < rates.size(); ++i)
    c["rounds"].push_back({{"round", i},
                           {"first", rates[i].first > 0 ? pass(rates[i].first) : Json(nullptr)},
                           {"later", rates[i].second > 0 ? pass(rates[i].second) : Json(nullptr)}});
  return c;
}

Json measured(Json contestants) {
  return {{"schema", kBenchSchema},
          {"samples", 10000},
          {"sample_bytes", 1024},
          {"machine", {{"cpu", "a <b> & \"c\""}, {"cores", 2}, {"memory_bytes", 1 << 30}, {"system", "Linux 6"}}},
          {"page_cache", {{"files", 2}, {"bytes", 1 << 20}, {"resident_share", 0.5}}},
          {"contestants", std::move(contestants)}};
}

std::string refusal(const std::string& text, const BenchJudgement& judgement = {}) {
  try {
    bench_report(text, judgement);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(BenchReport, MediansAndRatiosOfTheSameRounds) {
  Json bench = measured({contestant("headrace", "Headrace", {{100, 1000}, {300, 3000}, {200, 8000}}),
                         contestant("h5py", "h5py", {{50, 100}, {100, 1000}, {0, 0}})});
  ASSERT_TRUE(summarise_bench(bench).ok());
  const Json& ours = bench["contestants"][0];
  EXPECT_EQ(ours["first"]["samples_per_second"], 200);
  EXPECT_EQ(ours["first"]["lowest"], 100);
  EXPECT_EQ(ours["first"]["highest"], 300);
  EXPECT_EQ(ours["later"]["samples_per_second"], 3000);
  EXPECT_EQ(ours["first"]["batch_ms_p99"], 10);
  EXPECT_EQ(ours["epoch_seconds"]["first"], 50);
  EXPECT_FALSE(ours.contains("headrace_is"));
  const Json& theirs = bench["contestants"][1];
  EXPECT_EQ(theirs["first"]["samples_per_second"], 75);
  EXPECT_DOUBLE_EQ(
      theirs["headrace_is"]["first"].get<double>(),
      ours["first"]["samples_per_second"].get<double>() / theirs["first"]["samples_per_second"].get<double>());
  EXPECT_DOUBLE_EQ(
      theirs["headrace_is"]["later"].get<double>(),
      ours["later"]["samples_per_second"].get<double>() / theirs["later"]["samples_per_second"].get<double>());
}

TEST(BenchReport, OnlyEqualWorkIsCompared) {
  Json other = contestant("h5py", "h5py", {{50, 0}});
  other["batch_size"] = 256;
  Json bench = measured({contestant("headrace", "Headrace", {{100, 0}}), other});
  ASSERT_TRUE(summarise_bench(bench).ok());
  EXPECT_FALSE(bench["contestants"][1].contains("headrace_is"));
}

TEST(BenchReport, TheTableTellsWhatWasNotReachedAndWhatWasSkipped) {
  Json bench =
      measured({contestant("headrace", "Headrace", {{40000, 80000}}), contestant("h5py", "slices", {{8000, 0}})});
  bench["skipped"] = {{{"name", "torch-lru"}, {"reason", "no torch here"}}};
  const ToolResult result = bench_report(dump(bench), {});
  for (const char* words : {"40,000", "80,000", "5.0x / –", "no torch here", "50 % of the files'", "reads the disk"})
    EXPECT_NE(result.text.find(words), std::string::npos) << words << "\n" << result.text;
  EXPECT_NE(result.markdown.find("| slices | 8,000 | – | 5.0x / – |"), std::string::npos) << result.markdown;
  EXPECT_FALSE(result.findings);
  const Json alone = measured({contestant("headrace", "Headrace", {{40000, 80000}})});
  EXPECT_EQ(bench_report(dump(alone), {}).text.find("Headrace is"), std::string::npos);
}

TEST(BenchReport, ThePictureEscapesNamesAndHasABarForEachRate) {
  const Json bench =
      measured({contestant("headrace", "a < b & \"c\"\x01", {{40000, 80000}}), contestant("h5py", "x", {{8000, 0}})});
  const std::string svg = bench_report(dump(bench), {}).plot;
  EXPECT_TRUE(svg.starts_with("<svg xmlns="));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_NE(svg.find("a &lt; b &amp; &quot;c&quot; "), std::string::npos);
  std::size_t bars = 0;
  for (std::size_t at = svg.find("rx=\"2\""); at != std::string::npos; at = svg.find("rx=\"2\"", at + 1)) ++bars;
  EXPECT_EQ(bars, 3U);
  EXPECT_NE(svg.find("not reached in the time"), std::string::npos);
}

TEST(BenchReport, WhatIsNoBenchIsRefused) {
  for (const char* text :
       {"", "[]", "{}", R"({"schema": "headrace-bench/2", "contestants": []})", R"({"schema": "headrace-bench/1"})",
        R"({"schema": "headrace-bench/1", "contestants": [1]})",
        R"({"schema": "headrace-bench/1", "contestants": [{"name": "a", "batch_size": 1, "rounds": [1]}]})"})
    EXPECT_NE(refusal(text).find("no measurements of headrace bench"), std::string::npos) << text;
}

TEST(BenchReport, ValuesOfAnotherKindAreRefused) {
  const Json sound = measured({contestant("headrace", "Headrace", {{100, 1000}})});
  ASSERT_EQ(refusal(dump(sound)), "");
  for (const auto& [place, value] :
       std::initializer_list<std::pair<const char*, Json>>{{"/samples", -1},
                                                           {"/sample_bytes", "many"},
                                                           {"/machine", 5},
                                                           {"/machine/cpu", 1},
                                                           {"/page_cache/files", "2"},
                                                           {"/page_cache/resident_share", "half"},
                                                           {"/skipped", Json::array({"h5py"})},
                                                           {"/stopped_by_time", 0},
                                                           {"/contestants/0/title", 7},
                                                           {"/contestants/0/split", Json::array()},
                                                           {"/contestants/0/batch_size", 1e300},
                                                           {"/contestants/0/batch_size", -5},
                                                           {"/contestants/0/workers_tried", Json{{"2", 1e300}}},
                                                           {"/contestants/0/rounds/0/first/samples_per_second", 1e300},
                                                           {"/contestants/0/rounds/0/first/batch_ms", 5},
                                                           {"/contestants/0/rounds/0/later", "none"}}) {
    Json other = sound;
    other[Json::json_pointer(place)] = value;
    EXPECT_NE(refusal(dump(other)).find("no measurements of headrace bench"), std::string::npos) << place << value;
  }
  EXPECT_NE(refusal(std::string(100000, '[')).find("no measurements"), std::string::npos);
}

TEST(BenchReport, AReportIsMeasurementsOfTheSameReport) {
  Json bench = measured({contestant("headrace", "Headrace", {{100, 1000}}), contestant("h5py", "h5py", {{50, 0}})});
  bench["contestants"][0]["headrace_is"] = {{"first", 7}};  // of other medians, or by hand
  const ToolResult report = bench_report(dump(bench), {}), again = bench_report(report.json, {});
  EXPECT_EQ(again.json, report.json);
  EXPECT_EQ(again.text, report.text);
  EXPECT_EQ(report.text.find("7.0x"), std::string::npos) << report.text;
}

class BenchBaseline : public ::testing::Test {
 protected:
  ToolResult against(const Json& before, const Json& now, double max_slowdown) const {
    std::ofstream(folder_.path("old.json")) << dump(before);
    return bench_report(dump(now), {folder_.path("old.json"), max_slowdown});
  }
  const TemporaryFolder folder_;
};

TEST_F(BenchBaseline, NamesWhatIsSlower) {
  const Json before = measured({contestant("headrace", "Headrace", {{100, 1000}})});
  const Json now = measured({contestant("headrace", "Headrace", {{95, 700}})});
  ToolResult result = against(before, now, 0);
  EXPECT_FALSE(result.findings);
  EXPECT_NE(result.text.find("SLOWER    Headrace, later epochs, batch 512 (-30.0 %)"), std::string::npos)
      << result.text;
  EXPECT_EQ(Json::parse(result.json)["baseline"]["slower"].size(), 1U);
  EXPECT_TRUE(against(before, now, 20).findings);
  EXPECT_FALSE(against(before, now, 31).findings);
  EXPECT_EQ(Json::parse(against(before, now, 1).json)["baseline"]["slower"].size(), 2U);
  EXPECT_FALSE(against(now, before, 1).findings);  // faster
}

TEST_F(BenchBaseline, OfOtherDataOrAnotherMachineItSaysSo) {
  Json before = measured({contestant("headrace", "Headrace", {{100, 1000}})});
  const Json now = before;
  before["contestants"][0]["samples"] = 5;
  before["machine"]["cores"] = 64;
  const ToolResult result = against(before, now, 0);
  EXPECT_NE(result.text.find("another machine and other data"), std::string::npos) << result.text;
  EXPECT_NE(result.markdown.find("another machine and other data"), std::string::npos) << result.markdown;
  before["contestants"][0]["batch_size"] = 7;
  EXPECT_NE(against(before, now, 0).text.find("nothing that was measured now"), std::string::npos);
}

TEST_F(BenchBaseline, AWrongFileIsNamed) {
  const std::string now = dump(measured({contestant("headrace", "Headrace", {{100, 1000}})}));
  EXPECT_NE(refusal(now, {folder_.path("none.json"), 0}).find("none.json"), std::string::npos);
  std::ofstream(folder_.path("odd.json")) << "{";
  EXPECT_NE(refusal(now, {folder_.path("odd.json"), 0}).find("odd.json"), std::string::npos);
}

TEST(BenchPass, PercentilesAreThoseOfTheNearestRank) {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) values.push_back(i);
  EXPECT_EQ(percentile(values, 0.99), 99);
  EXPECT_EQ(percentile(values, 0.5), 50);
  EXPECT_EQ(percentile({7}, 0.99), 7);
  EXPECT_EQ(percentile({}, 0.5), 0);
}

// While the first batch is waited for, the window fills with others: without it a short epoch would seem to be quick.
TEST(BenchPass, RatesAreThoseOfTheWholePass) {
  BenchPass one;
  one.samples = 300, one.first_batch_samples = 100, one.seconds = 3, one.first_batch_seconds = 2, one.batches = 3;
  EXPECT_EQ(one.samples_per_second(), 100);
  const BenchPass two = joined({one, one});
  EXPECT_EQ(two.samples, 600U);
  EXPECT_EQ(two.samples_per_second(), 100);
}

}  // namespace
}  // namespace headrace
