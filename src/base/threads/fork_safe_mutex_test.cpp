#include "base/threads/fork_safe_mutex.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

namespace headrace {
namespace {

/// Fork `children` times; each child takes the locks. True if none waited for ever.
bool children_can_take(std::vector<ForkSafeMutex*> locks, int children) {
  bool all_could = true;
  for (int i = 0; i < children; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(5);  // a child that hangs is killed by it
      for (ForkSafeMutex* lock : locks) lock->lock();
      ::_exit(0);
    }
    int status = -1;
    all_could = ::waitpid(child, &status, 0) == child && status == 0 && all_could;
  }
  return all_could;
}

TEST(ForkSafeMutex, AChildFindsEveryLockFree) {
  ForkSafeMutex outer, inner;
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {  // nearly always inside: a fork that does not wait meets a lock that is taken
      while (!stop) {
        const std::lock_guard first(outer);
        const std::lock_guard second(inner);
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    });
  EXPECT_TRUE(children_can_take({&outer, &inner}, 20));
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

TEST(ForkSafeMutex, AChildMayForkToo) {
  ForkSafeMutex mutex;
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10);
    const bool could = children_can_take({&mutex}, 1);
    const std::lock_guard lock(mutex);
    ::_exit(could ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ForkSafeMutex, HoldsOneThreadAtATime) {
  ForkSafeMutex mutex;
  int count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 1000; ++k) {
        const std::lock_guard lock(mutex);
        ++count;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 4000);
}

}  // namespace
}  // namespace headrace
