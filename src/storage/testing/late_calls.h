// LateCalls: a file system that answers late, fails or hangs, as a test says.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string_view>

#include "storage/file_calls.h"

namespace headrace::testing {

/// Stands for the system's calls from construction to destruction, for files that are opened in between: they must not
/// outlive it. Threads: any.
class LateCalls final : public FileCalls {
 public:
  struct Answer {
    std::chrono::microseconds after{0};
    int error = 0;       ///< errno; 0: the call is made.
    bool hangs = false;  ///< It returns when let_go() is called.
  };
  /// \param answer  Says what call number n does, of opening, reading and looking at paths, counted together; of which
  /// path, where the call has one, else "".
  using Answers = std::function<Answer(std::uint64_t n, std::string_view path)>;
  explicit LateCalls(Answers answer) : answer_(std::move(answer)) { FileCalls::replace_system(this); }
  ~LateCalls() override { FileCalls::replace_system(nullptr); }

  int open(const char* path) const override { return wait(path) ? FileCalls::open(path) : -1; }
  ssize_t pread(int fd, void* out, std::size_t size, off_t offset) const override {
    if (!wait("")) return -1;
    const ssize_t got = FileCalls::pread(fd, out, size, offset);
    if (got > 0) bytes_ += static_cast<std::uint64_t>(got);
    return got;
  }
  int stat(const char* path, struct stat* out) const override { return wait(path) ? FileCalls::stat(path, out) : -1; }
  void pause_ms(int) const override {}
  void will_need(int fd, off_t offset, off_t size) const override {
    ++expected_;
    FileCalls::will_need(fd, offset, size);
  }

  /// Let calls that hang return.
  void let_go();
  /// Return the calls that were made, and the most at once.
  [[nodiscard]] std::uint64_t num_calls() const { return calls_; }
  [[nodiscard]] int most_at_once() const { return most_; }
  void forget_most() { most_ = 0; }
  [[nodiscard]] std::uint64_t num_bytes_read() const { return bytes_; }
  /// Return how many ranges the system was told of before they were read.
  [[nodiscard]] std::uint64_t num_expected() const { return expected_; }

 private:
  bool wait(std::string_view path) const;

  const Answers answer_;
  mutable std::atomic<std::uint64_t> calls_{0}, expected_{0}, bytes_{0};
  mutable std::atomic<int> at_once_{0}, most_{0};
  mutable std::mutex mutex_;
  mutable std::condition_variable released_;
  bool let_go_ = false;
};

}  // namespace headrace::testing
