#include "base/threads/parallel.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <csignal>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/thrown.h"

namespace headrace {
namespace {

/// Blocks all signals of this thread, so that threads it starts inherit that, until the end of the block.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

/// Let this thread work beside those of the program, not before them: one that wakes goes ahead of what runs there
/// for up to 3 ms, and that may be the thread that has just taken a batch and woke it. A batch thread waits its turn
/// (sched(7)), and loses nothing where a processor is free. Policies that the program chose are left alone.
void yield_to_the_program() {
  const sched_param none{};
  if (::sched_getscheduler(0) == SCHED_OTHER) ::sched_setscheduler(0, SCHED_BATCH, &none);  // a wish
}

Status run_guarded(const ParallelBody& body, int index, std::stop_token stop) {
  try {
    return body(index, std::move(stop));
  } catch (const std::exception& thrown) {
    return error_of(thrown);
  }
}

/// Keeps the first error, and tells the others to stop.
class FirstError {
 public:
  void take(Status status) {
    if (status.ok()) return;
    {
      const std::lock_guard guard(mutex_);
      const bool better =
          !error_ || (error_->code() == ErrorCode::kCancelled && status.error().code() != ErrorCode::kCancelled);
      if (better) error_ = std::move(status.error());
    }
    stop_.request_stop();
  }
  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }
  std::stop_source& source() { return stop_; }
  [[nodiscard]] Status result() const { return error_ ? Status(*error_) : Status(); }

 private:
  std::mutex mutex_;
  std::optional<Error> error_;
  std::stop_source stop_;
};

}  // namespace

Result<std::jthread> start_thread(std::string name, std::function<void(std::stop_token)> body) {
  const SignalsBlocked blocked;
  try {
    return std::jthread([name = name.substr(0, 15), body = std::move(body)](std::stop_token stop) {
      pthread_setname_np(pthread_self(), name.c_str());
      yield_to_the_program();
      body(std::move(stop));
    });
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::system_error& error) {
    return Error(ErrorCode::kOutOfBudget, fmt::format("the system does not start thread '{}': {}", name, error.what()))
        .with_hint("Look at ulimit -u and at the cgroup's pids.max, or ask for fewer threads.");
  }
}

Status run_parallel(int num_threads, const std::string& name, const ParallelBody& body, std::stop_token stop) {
  FirstError first;
  const std::stop_callback forward(stop, [&first] { first.source().request_stop(); });
  {
    std::vector<std::jthread> threads;
    threads.reserve(static_cast<std::size_t>(std::max(num_threads, 1)));
    for (int index = 1; index < std::max(num_threads, 1); ++index) {
      auto thread = start_thread(fmt::format("{}-{}", name, index), [&, index](const std::stop_token&) {
        first.take(run_guarded(body, index, first.token()));
      });
      if (!thread.ok()) {
        first.take(std::move(thread.error()));
        break;
      }
      threads.push_back(std::move(*thread));
    }
    if (!first.token().stop_requested() || num_threads <= 1) first.take(run_guarded(body, 0, first.token()));
    for (std::jthread& thread : threads) thread.join();
  }
  return first.result();
}

}  // namespace headrace
