#include <gtest/gtest.h>
#include <headrace/tools.h>

#include <sstream>

#include "format/testing/hdf5_files.h"
#include "tools/json.h"
#include "tools/text_table.h"

namespace headrace {
namespace {

using headrace::testing::Hdf5Writer;

void expect_shows(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in:\n" << text;
}

void expect_fits(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(text_columns(line), kScreenColumns) << line;
}

TEST(Inspect, OneFileInFull) {
  const TemporaryFolder directory;
  {
    const Hdf5Writer file(directory.path("a.h5"));
    file.write("feature_matrix", {{1000, 128, 16}, {100, 128, 16}, 4});
    file.write("labels", {{1000}});
  }
  const ToolResult result = inspect({directory.path("a.h5")});
  EXPECT_FALSE(result.findings) << result.text;
  for (const char* part : {"HDF5", "2 arrays", "(1000, 128, 16)", "int32", "100 rows, 800 KiB", "gzip-4", "native",
                           "contiguous", "one random row decodes 800 KiB (100 rows) to use 8.00 KiB",
                           "any rows in any order", "feature_matrix, labels: 1,000 samples of 8.00 KiB"})
    expect_shows(result.text, part);
  expect_fits(result.text.substr(result.text.find('\n')));  // the first line is the path
  const Json json = Json::parse(result.json);
  const Json& array = json["files"][0]["arrays"][0];
  EXPECT_EQ(array["path"], "feature_matrix");
  EXPECT_EQ(array["chunk_shape"], Json::array({100, 128, 16}));
  EXPECT_EQ(array["random_row_decodes_bytes"], 100 * 128 * 16 * 4);
  EXPECT_EQ(array["filters"][0]["name"], "deflate");
  EXPECT_EQ(json["samples"]["rows"], 1000);
}

TEST(Inspect, OtherFilesBySummaryAndDifference) {
  const TemporaryFolder directory;
  for (const char* name : {"f1.h5", "f2.h5", "f3.h5"})
    Hdf5Writer(directory.path(name)).write("x", {{100, 4}, {10, 4}, 4});
  { Hdf5Writer(directory.path("f10.h5")).write("x", {{100, 4}, {20, 4}}); }
  const ToolResult result = inspect({directory.path("f*.h5")});
  EXPECT_TRUE(result.findings);
  expect_shows(result.text, "2 more files with the same arrays");
  expect_shows(result.text, "1 file unlike the first");
  expect_shows(result.text, "x: layout 20 rows, 320 B, in the first file 10 rows, 160 B");
  expect_shows(result.text, "x: filters none, in the first file gzip-4");
  const Json json = Json::parse(result.json);
  EXPECT_EQ(json["files"].size(), 4U);
  EXPECT_EQ(json["files"][3]["differences"].size(), 2U);
}

TEST(Inspect, ArraysMissingInAFileAreNamed) {
  const TemporaryFolder directory;
  {
    const Hdf5Writer file(directory.path("f1.h5"));
    file.write("x", {{100, 4}});
    file.write("y", {{100}});
  }
  { Hdf5Writer(directory.path("f2.h5")).write("x", {{100, 4}}); }
  expect_shows(inspect({directory.path("f*.h5")}).text, "y: not in this file");
}

TEST(Inspect, AFileThatCannotBeOpenedIsListedAmongOthers) {
  const TemporaryFolder directory;
  { Hdf5Writer(directory.path("f1.h5")).write("x", {{100, 4}}); }
  std::ofstream(directory.path("f2.h5")) << "nothing of the kind";
  const ToolResult result = inspect({directory.path("f*.h5")});
  EXPECT_TRUE(result.findings);
  expect_shows(result.text, directory.path("f2.h5"));
  EXPECT_TRUE(Json::parse(result.json)["files"][1].contains("error"));
}

TEST(Inspect, AFileAloneThatCannotBeOpenedIsAnError) {
  const TemporaryFolder directory;
  std::ofstream(directory.path("f2.h5")) << "nothing of the kind";
  EXPECT_THROW(inspect({directory.path("f2.h5")}), Error);
}

TEST(Inspect, TheSlowWayIsAFinding) {
  const TemporaryFolder directory;
  { Hdf5Writer(directory.path("a.h5")).write("x", {{1000, 8}, {100, 8}, 0, false, true}); }
  const ToolResult result = inspect({directory.path("a.h5")});
  EXPECT_TRUE(result.findings);
  expect_shows(result.text, "libhdf5");
}

TEST(Inspect, ManyWideArraysStayOnTheScreen) {
  const TemporaryFolder directory;
  {
    const Hdf5Writer file(directory.path("a.h5"));
    for (int i = 0; i < 3; ++i)
      file.write(("an_array_with_quite_a_long_name_that_goes_on_" + std::to_string(i)).c_str(),
                 {{1000, 128, 4, 4}, {100, 128, 4, 4}, 4, true});
  }
  const std::string text = inspect({directory.path("a.h5")}).text;
  expect_fits(text.substr(text.find('\n')));
}

}  // namespace
}  // namespace headrace
