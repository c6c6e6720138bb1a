#include "storage/fd_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/testing/temporary_folder.h"
#include "storage/local_file.h"
#include "storage/testing/memory_file.h"

namespace headrace {
namespace {

using namespace std::chrono_literals;

/// Real calls, of which an open waits until as many are under way as the test expects, or for a while in vain.
class MeetingCalls final : public FileCalls {
 public:
  int open(const char* path) const override {
    std::unique_lock lock(mutex_);
    ++opens;
    most_inside = std::max(most_inside, ++inside_);
    changed_.notify_all();
    changed_.wait_for(lock, 2s, [&] { return most_inside >= expected; });
    --inside_;
    lock.unlock();
    return FileCalls::open(path);
  }
  mutable int opens = 0, most_inside = 0;
  int expected = 0;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable int inside_ = 0;
};

/// Files that are opened by their first read, and the reads of as many threads, each of one of them.
class FdPoolTest : public ::testing::Test {
 protected:
  std::shared_ptr<LocalFile> known(const char* name) {
    const std::string path = folder_.write(name, MemoryFile::pattern(100)->bytes());
    const auto fingerprint = LocalFile::open(path, FileCalls::system(), pool_).value()->fingerprint();
    return LocalFile::known(path, fingerprint, calls_, pool_);
  }
  static int good_reads(const std::vector<std::shared_ptr<LocalFile>>& files) {
    std::atomic<int> good{0};
    std::vector<std::thread> threads;
    for (const auto& file : files)
      threads.emplace_back([&good, &file] {
        std::array<std::byte, 100> out{};
        good += file->read_at(0, out).ok() && out[99] == MemoryFile::pattern_byte(99);
      });
    for (std::thread& thread : threads) thread.join();
    return good;
  }
  TemporaryFolder folder_;
  MeetingCalls calls_;
  FdPool pool_{8};
};

TEST_F(FdPoolTest, FilesAreOpenedSideBySide) {
  calls_.expected = 3;
  EXPECT_EQ(good_reads({known("a"), known("b"), known("c")}), 3);
  EXPECT_EQ(calls_.most_inside, 3);
}

TEST_F(FdPoolTest, AFileThatManyWantIsOpenedOnce) {
  const auto file = known("a");
  EXPECT_EQ(good_reads({file, file, file, file}), 4);
  EXPECT_EQ(calls_.opens, 1);
  EXPECT_EQ(pool_.num_open(), 1u);
}

TEST_F(FdPoolTest, FilesThatAreBeingOpenedCountAmongItsDescriptors) {
  std::vector<std::shared_ptr<LocalFile>> files;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}) files.push_back(known(name));
  for (const auto& file : files) EXPECT_EQ(good_reads({file}), 1);
  EXPECT_EQ(pool_.num_open(), 8u);
  calls_.expected = 4;
  EXPECT_EQ(good_reads({files[0], files[1], files[2], files[3]}), 4);
  EXPECT_LE(pool_.num_open(), 8u);
}

/// Calls whose close() needs the pool's lock: it would wait for ever if the pool held that meanwhile.
class AskingCalls final : public FileCalls {
 public:
  explicit AskingCalls(const FdPool& pool) : pool_(pool) {}
  int close(int fd) const override {
    closes += pool_.num_open() <= pool_.limit() + 1;
    return FileCalls::close(fd);
  }
  mutable std::atomic<int> closes{0};

 private:
  const FdPool& pool_;
};

TEST_F(FdPoolTest, ClosesOutsideOfItsLock) {
  FdPool pool(2);
  const AskingCalls calls(pool);
  {
    std::vector<std::shared_ptr<LocalFile>> files;
    for (const char* name : {"a", "b", "c", "d", "e"})
      files.push_back(LocalFile::open(folder_.write(name, MemoryFile::pattern(100)->bytes()), calls, pool).value());
    EXPECT_EQ(calls.closes, 3);
    EXPECT_EQ(good_reads(files), 5);
    EXPECT_TRUE(pool.close_one());
  }
  EXPECT_EQ(pool.num_open(), 0u);
}

}  // namespace
}  // namespace headrace
