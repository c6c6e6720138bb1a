#include "base/threads/parallel.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <thread>

namespace headrace {
namespace {

TEST(RunParallel, RunsEveryIndexOnceEachOnItsThread) {
  for (const int n : {-1, 0, 1, 2, 7}) {
    std::mutex mutex;
    std::multiset<int> seen;
    const Status status = run_parallel(n, "test", [&](int index, const std::stop_token&) {
      const std::lock_guard guard(mutex);
      seen.insert(index);
      return Status();
    });
    EXPECT_TRUE(status.ok());
    std::multiset<int> expected;
    for (int i = 0; i < std::max(n, 1); ++i) expected.insert(i);
    EXPECT_EQ(seen, expected);
  }
}

/// Sleeps until the token says stop.
Status wait_for_stop(std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait(lock, stop, [] { return false; });
  return Error(ErrorCode::kCancelled, "stopped");
}

TEST(RunParallel, FirstErrorStopsTheOthersAndIsKept) {
  for (int failing = 0; failing < 4; ++failing) {
    const Status status = run_parallel(4, "test", [&](int index, std::stop_token stop) -> Status {
      if (index == failing) return Error(ErrorCode::kReadFailed, "broken");
      return wait_for_stop(std::move(stop));
    });
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code(), ErrorCode::kReadFailed);
  }
}

TEST(RunParallel, CallersTokenStopsEverybody) {
  std::stop_source source;
  const Status status = run_parallel(
      3, "test",
      [&](int index, std::stop_token stop) -> Status {
        if (index == 2) source.request_stop();
        return wait_for_stop(std::move(stop));
      },
      source.get_token());
  EXPECT_EQ(status.error().code(), ErrorCode::kCancelled);
}

TEST(RunParallel, ExceptionsBecomeErrors) {
  const auto code_of = [](auto thrower) {
    return run_parallel(2, "test",
                        [&](int index, const std::stop_token&) -> Status {
                          if (index == 1) thrower();
                          return {};
                        })
        .error()
        .code();
  };
  EXPECT_EQ(code_of([] { throw std::bad_alloc(); }), ErrorCode::kOutOfBudget);
  EXPECT_EQ(code_of([] { throw std::runtime_error("x"); }), ErrorCode::kInternal);
  EXPECT_EQ(code_of([] { throw Error(ErrorCode::kCorruptData, "x"); }), ErrorCode::kCorruptData);
}

TEST(StartThread, HasItsNameAndGetsNoSignals) {
  std::string name(32, '\0');
  sigset_t mask;
  {
    auto thread = start_thread("headrace-decode-17", [&](const std::stop_token&) {
      pthread_getname_np(pthread_self(), name.data(), name.size());
      pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    });
    ASSERT_TRUE(thread.ok());
  }
  EXPECT_STREQ(name.c_str(), "headrace-decode");
  EXPECT_EQ(sigismember(&mask, SIGINT), 1);
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGINT), 0) << "the caller's own mask is as it was";
}

TEST(StartThread, DoesNotGoBeforeTheThreadThatWakesIt) {
  const auto policy_of_a_thread = [] {
    int policy = -1;
    start_thread("hr-test", [&](const std::stop_token&) { policy = ::sched_getscheduler(0); }).value().join();
    return policy;
  };
  const sched_param none{};
  int allowed = -1;
  std::jthread([&] { allowed = ::sched_setscheduler(0, SCHED_BATCH, &none); }).join();
  if (allowed != 0 || ::sched_getscheduler(0) != SCHED_OTHER) GTEST_SKIP() << "this process may not choose its policy";
  EXPECT_EQ(policy_of_a_thread(), SCHED_BATCH);
  std::jthread([&] {
    ASSERT_EQ(::sched_setscheduler(0, SCHED_IDLE, &none), 0);
    EXPECT_EQ(policy_of_a_thread(), SCHED_IDLE) << "what the program chose stays";
  }).join();
}

TEST(StartThread, DestructionStopsAndJoins) {
  std::atomic<bool> ended{false};
  {
    auto thread = start_thread("test", [&](std::stop_token stop) {
      static_cast<void>(wait_for_stop(std::move(stop)));
      ended = true;
    });
    ASSERT_TRUE(thread.ok());
  }
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace headrace
