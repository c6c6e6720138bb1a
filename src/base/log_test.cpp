#include "base/log.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

namespace headrace {
namespace {

class LogTest : public testing::Test {
 protected:
  ~LogTest() override {
    set_log_sink({});
    set_log_level(level_);
  }
  const LogLevel level_ = log_level();
};

TEST_F(LogTest, SinkGetsWhatTheLevelLetsThrough) {
  std::vector<std::string> got;
  set_log_sink(
      [&](LogLevel level, const std::string& text) { got.push_back(std::string(to_string(level)) + " " + text); });
  set_log_level(LogLevel::kWarning);
  log(LogLevel::kInfo, "no");
  log(LogLevel::kWarning, "yes");
  set_log_level(LogLevel::kDebug);
  log(LogLevel::kDebug, "details");
  set_log_level(LogLevel::kOff);
  log(LogLevel::kError, "no");
  EXPECT_FALSE(log_enabled(LogLevel::kOff));
  EXPECT_EQ(got, (std::vector<std::string>{"warning yes", "debug details"}));
}

TEST_F(LogTest, DefaultGoesToStderrAndNeverToStdout) {
  set_log_level(LogLevel::kInfo);
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  log(LogLevel::kInfo, "hello");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "headrace info: hello\n");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

TEST_F(LogTest, SinkMayBeExchangedWhileThreadsLog) {
  std::atomic<int> got{0};
  set_log_level(LogLevel::kInfo);
  set_log_sink([&](LogLevel, const std::string&) { ++got; });
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 500; ++i) log(LogLevel::kInfo, "x");
    });
  for (int i = 0; i < 100; ++i) set_log_sink([&](LogLevel, const std::string&) { ++got; });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(got, 1500);
}

}  // namespace
}  // namespace headrace
