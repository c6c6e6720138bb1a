#include "storage/version_now.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/testing/temporary_folder.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

class VersionNowTest : public ::testing::Test {
 protected:
  void write_in_place(const std::string& name, const std::string& text) const {
    std::fstream(folder_.path(name), std::ios::in | std::ios::out | std::ios::binary) << text;
  }
  [[nodiscard]] FileFingerprint now() const { return *version_now(folder_.path("d")); }
  [[nodiscard]] FileChange since(const FileFingerprint& before) const { return change_between(before, now()); }

  VersionNowTest() {
    fs::create_directories(folder_.path("d/deeper"));
    for (int i = 0; i < 1200; ++i) folder_.write_text("d/" + std::to_string(i), "text");  // several threads' work
    date_ = fs::last_write_time(folder_.path("d/7")) - std::chrono::hours(1);
    for (int i = 0; i < 1200; ++i) fs::last_write_time(folder_.path("d/" + std::to_string(i)), date_);
  }

  const TemporaryFolder folder_;
  fs::file_time_type date_;
};

TEST_F(VersionNowTest, ADirectoryIsWhatItsFilesAre) {
  const FileFingerprint before = now();
  EXPECT_EQ(since(before), FileChange::kNone);
  EXPECT_EQ(before.size_bytes, 0u);
  const auto of_directory = fs::last_write_time(folder_.path("d"));
  write_in_place("d/1100", "TEXT");
  EXPECT_EQ(fs::last_write_time(folder_.path("d")), of_directory);
  EXPECT_EQ(since(before), FileChange::kChanged);
  fs::last_write_time(folder_.path("d/1100"), date_);
  EXPECT_EQ(since(before), FileChange::kTouched);
  EXPECT_NE(describe_change(before, now())->find("neither its size nor its date"), std::string::npos);
}

TEST_F(VersionNowTest, NamesAndSizesCount) {
  const FileFingerprint before = now();
  fs::rename(folder_.path("d/3"), folder_.path("d/x"));
  EXPECT_EQ(since(before), FileChange::kChanged);
  fs::rename(folder_.path("d/x"), folder_.path("d/3"));
  const FileFingerprint again = now();
  EXPECT_EQ(again.entries, before.entries);
  std::ofstream(folder_.path("d/5"), std::ios::app) << "more";
  EXPECT_NE(now().entries, before.entries);
}

TEST_F(VersionNowTest, WhatIsNotKnownIsNotCompared) {
  const FileFingerprint file = *version_now(folder_.path("d/1"));
  FileFingerprint less = file;
  less.ctime_ns = 0, less.inode = 0;
  EXPECT_EQ(change_between(less, file), FileChange::kNone);
  EXPECT_EQ(change_between(FileFingerprint{}, file), FileChange::kNone);
  less.inode = file.inode + 1;
  EXPECT_EQ(change_between(less, file), FileChange::kTouched);
  less.size_bytes = 9;
  EXPECT_EQ(change_between(less, file), FileChange::kChanged);
  EXPECT_FALSE(version_now(folder_.path("nothing")));
}

}  // namespace
}  // namespace headrace
