#include "dataset/files/open_several.h"

#include <gtest/gtest.h>
#include <headrace/dataset.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "base/testing/temporary_folder.h"
#include "format/testing/npy_files.h"
#include "storage/testing/late_calls.h"

namespace headrace {
namespace {

using testing::LateCalls;

constexpr std::size_t kFiles = 200;

/// Files that take the longer to open the earlier they come, and some that fail.
class OpenSeveral : public ::testing::Test {
 protected:
  Status run(const std::function<Status(std::size_t)>& take = {}) {
    return open_several<std::size_t>(
        kFiles, folder_.path("any"),
        [&](std::size_t i) -> Result<std::size_t> {
          {
            const std::lock_guard lock(mutex_);
            threads_.insert(std::this_thread::get_id());
          }
          ++opened_;
          std::this_thread::sleep_for(std::chrono::microseconds(100 * (9 - i % 10)));
          if (i == throws_at_) throw std::runtime_error("thrown");
          if (i >= fails_from_) return Error(ErrorCode::kReadFailed, "file " + std::to_string(i));
          return 7 * i;
        },
        [&](std::size_t i, std::size_t value) -> Status {
          EXPECT_EQ(i, taken_.size());
          taken_.push_back(value);
          return take ? take(i) : Status();
        });
  }

  TemporaryFolder folder_;
  std::mutex mutex_;
  std::set<std::thread::id> threads_;
  std::atomic<std::size_t> opened_{0};
  std::size_t fails_from_ = kFiles, throws_at_ = kFiles;
  std::vector<std::size_t> taken_;
};

TEST_F(OpenSeveral, TakesEachFileInOrder) {
  ASSERT_TRUE(run().ok());
  ASSERT_EQ(taken_.size(), kFiles);
  for (std::size_t i = 0; i < kFiles; ++i) EXPECT_EQ(taken_[i], 7 * i);
  EXPECT_EQ(opened_, kFiles);
}

TEST_F(OpenSeveral, TheFirstErrorInTheirOrderCounts) {
  fails_from_ = 50;
  const Status status = run();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message(), "file 50");
  EXPECT_EQ(taken_.size(), 50U);
  EXPECT_LE(opened_, 50U + 64U + 1U);
}

TEST_F(OpenSeveral, WhatIsThrownIsAnError) {
  throws_at_ = 20, fails_from_ = 21;
  const Status status = run();
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message().find("thrown"), std::string::npos);
  EXPECT_EQ(taken_.size(), 20U);
}

TEST_F(OpenSeveral, EndsWhereTakingEnds) {
  const Status status = run([](std::size_t i) {
    if (i == 5) std::this_thread::sleep_for(std::chrono::milliseconds(100));  // others go ahead
    return i == 5 ? Status(out_of_memory()) : Status();
  });
  EXPECT_EQ(status.error().code(), ErrorCode::kOutOfBudget);
  EXPECT_EQ(taken_.size(), 6U);
  EXPECT_LE(opened_, 6U + 64U + 1U);
  taken_.clear();
  EXPECT_THROW((void)run([](std::size_t i) -> Status { return i == 9 ? throw std::runtime_error("t") : Status(); }),
               std::runtime_error);
  EXPECT_EQ(taken_.size(), 10U);
}

TEST_F(OpenSeveral, NoFilesAndOne) {
  const auto never = [](auto&&...) -> Status { throw std::logic_error("there is none"); };
  EXPECT_TRUE(open_in_order(0, "", never, never).ok());
  std::vector<std::size_t> calls;
  const auto note = [&](std::size_t i) { return calls.push_back(i), Status(); };
  EXPECT_TRUE(open_in_order(1, "", note, note).ok());
  EXPECT_EQ(calls, (std::vector<std::size_t>{0, 0}));
}

TEST_F(OpenSeveral, ManyAtOnceWhereFilesAnswerLate) {
  for (int f = 0; f < 40; ++f) testing::write_npy<std::int64_t>(folder_.path(std::to_string(f) + ".npy"), 10, 10 * f);
  const LateCalls calls(
      [](std::uint64_t, std::string_view) { return LateCalls::Answer{std::chrono::milliseconds(5)}; });
  std::vector<std::uint64_t> seen;
  const std::thread::id here = std::this_thread::get_id();
  const Dataset data = open(folder_.path("*.npy"), {.fields = {}, .progress = [&](std::uint64_t done, std::uint64_t) {
                                                      EXPECT_EQ(std::this_thread::get_id(), here);
                                                      return seen.push_back(done), true;
                                                    }});
  EXPECT_EQ(data.files().size(), 40U);
  for (std::size_t f = 0; f < 40; ++f) EXPECT_EQ(data.files()[f].path, folder_.path(std::to_string(f) + ".npy"));
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], i + 1);
  EXPECT_GE(calls.most_at_once(), 8);
}

}  // namespace
}  // namespace headrace
