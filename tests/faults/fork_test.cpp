// fork() beside threads that hold a lock of libhdf5 and take one of open files inside it, or the other way round.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "base/testing/temporary_folder.h"
#include "base/threads/fork_safe_mutex.h"
#include "format/hdf5/library_lock.h"
#include "storage/local_file.h"
#include "thread_stat.h"

namespace headrace::faults {
namespace {

using hdf5::library_version;
using hdf5::LibraryLock;

std::atomic<pid_t> forking_thread{0};

/// True if a thread of this process waits in the kernel.
bool sleeps(pid_t thread) {
  return stat_field("/proc/self/task/" + std::to_string(thread), 3) == "S";
}

/// In a process of its own, which has 20 seconds: hold a lock, let another thread fork, and take a second lock once the
/// fork waits for the first. True if all of it came to an end.
bool both_end(const std::function<void(const std::function<void()>&)>& while_locked,
              const std::function<bool()>& take_another) {
  const pid_t apart = ::fork();
  if (apart == 0) {
    ::alarm(20);
    // What is registered last is called first: the locks come after it.
    ::pthread_atfork([] { forking_thread = static_cast<pid_t>(::syscall(SYS_gettid)); }, nullptr, nullptr);
    int status = -1;
    bool took = false;
    std::thread forker;
    while_locked([&] {
      forker = std::thread([&] {
        const pid_t child = ::fork();
        if (child == 0) {
          ::_exit(take_another() ? 0 : 1);  // it is free there
        }
        ::waitpid(child, &status, 0);
      });
      while (forking_thread == 0 || !sleeps(forking_thread)) std::this_thread::yield();
      took = take_another();
    });
    forker.join();
    ::_exit(took && status == 0 ? 0 : 1);
  }
  int status = -1;
  return ::waitpid(apart, &status, 0) == apart && status == 0;
}

/// Both locks have been in use before. Were fork() to wait for one after the other, one of the two tests would hang,
/// whichever came first.
class Fork : public ::testing::Test {
 protected:
  Fork() {
    (void)library_version(LibraryLock());
    (void)LocalFile::open(file_).ok();
  }
  const TemporaryFolder folder_;
  const std::string file_ = folder_.write_text("file", "some bytes");
};

TEST_F(Fork, WaitsForAThreadThatOpensAFileInsideLibhdf5) {
  EXPECT_TRUE(both_end(
      [](const auto& work) {
        const LibraryLock lock;
        work();
      },
      [&] { return LocalFile::open(file_).ok(); }));
}

TEST_F(Fork, WaitsForAThreadThatEntersLibhdf5WhileItOpensAFile) {
  EXPECT_TRUE(both_end(
      [](const auto& work) {
        ForkSafeMutex opening;  // as each file has one
        const std::lock_guard lock(opening);
        work();
      },
      [] { return !library_version(LibraryLock()).empty(); }));
}

}  // namespace
}  // namespace headrace::faults
