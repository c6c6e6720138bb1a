#include "base/threads/made_once.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace headrace {
namespace {

TEST(MadeOnce, IsMadeOnceByManyThreads) {
  static MadeOnce<int> value;
  std::atomic<int> made{0}, sum{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      sum += value.get([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        return ++made;
      });
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(sum, 8);
}

TEST(MadeOnce, AChildOfForkFindsWhatAThreadWasJustMaking) {
  static MadeOnce<int> value;
  std::atomic<bool> making{false};
  std::thread maker([&] {
    value.get([&] {
      making = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      return 7;
    });
  });
  while (!making) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // where it waits for ever
    _exit(value.get([] { return 8; }));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  maker.join();
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace headrace
