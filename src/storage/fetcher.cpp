#include "storage/fetcher.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/thrown.h"

namespace headrace {

bool LocalFetcher::fetch(std::span<const FileRange> ranges, std::span<std::byte> buffer, Done done) {
  done(read_ranges(ranges, buffer));
  return true;
}

/// Threads take single ranges from the front of a queue, so that a fetch of many ranges is many requests at once. The
/// thread that finishes a fetch's last range reports it.
class ThreadedFetcher::Impl {
 public:
  explicit Impl(const ThreadedFetcherOptions& options) : options_(options) {}

  Status start() {
    for (int i = 0; i < options_.num_threads; ++i) {
      HEADRACE_ASSIGN(std::jthread thread, start_thread("hr-fetch", [this](const std::stop_token&) { work(); }));
      threads_.push_back(std::move(thread));
    }
    return {};
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    work_ready_.notify_all();
    threads_.clear();  // joins
  }

  bool fetch(std::span<const FileRange> ranges, std::span<std::byte> buffer, Done done) {
    std::uint64_t bytes = 0;
    for (const FileRange& r : ranges) bytes += r.range.size;
    if (bytes == 0 || bytes > buffer.size()) {  // nothing to wait for, or the caller's mistake: read_ranges() says it
      done(read_ranges(ranges, buffer));
      return true;
    }
    auto request = std::make_shared<Request>(Request{ranges, buffer, std::move(done), bytes, ranges.size(), {}, {}});
    {
      const std::lock_guard lock(mutex_);
      if (bytes_in_flight_ > 0 && bytes_in_flight_ + bytes > options_.most_bytes_in_flight) return false;
      bytes_in_flight_ += bytes;
      std::size_t at = 0;
      for (std::size_t i = 0; i < ranges.size(); at += ranges[i++].range.size) queue_.push_back({request, i, at});
    }
    work_ready_.notify_all();
    return true;
  }

  std::uint64_t bytes_in_flight() const {
    const std::lock_guard lock(mutex_);
    return bytes_in_flight_;
  }

 private:
  struct Request {
    std::span<const FileRange> ranges;
    std::span<std::byte> buffer;
    Done done;
    std::uint64_t bytes;
    std::size_t unfinished;    // ranges
    std::size_t first_failed;  // of the ranges that failed: the error of the first is reported
    std::optional<Error> error;
  };
  struct Job {
    std::shared_ptr<Request> request;
    std::size_t range, buffer_offset;
  };

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      work_ready_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const Job job = std::move(queue_.front());
      queue_.pop_front();
      Request& request = *job.request;
      // Ranges before a failed one are still read: which error is reported must not depend on threads.
      const bool passed_over = request.error && request.first_failed < job.range;
      const bool stopping = stopping_;
      lock.unlock();
      Status status;
      try {
        if (stopping)
          status = Error(ErrorCode::kCancelled, "the fetcher was closed");
        else if (!passed_over)
          status = read_range(request.ranges[job.range],
                              request.buffer.subspan(job.buffer_offset, request.ranges[job.range].range.size));
      } catch (const std::exception& e) {
        status = error_of(e);
      }
      lock.lock();
      if (!status.ok() && (!request.error || job.range < request.first_failed)) {
        request.error = std::move(status.error());
        request.first_failed = job.range;
      }
      if (--request.unfinished > 0) continue;
      lock.unlock();
      report(request);
      lock.lock();
    }
  }

  void report(Request& request) {
    Status status = request.error ? Status(std::move(*request.error)) : Status();
    try {
      if (status.ok()) status = check_files_unchanged(request.ranges);
    } catch (const std::exception& e) {
      status = error_of(e);
    }
    {
      const std::lock_guard lock(mutex_);
      bytes_in_flight_ -= request.bytes;  // before `done`, which may ask for the next
    }
    request.done(std::move(status));
  }

  const ThreadedFetcherOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable work_ready_;
  std::deque<Job> queue_;
  std::uint64_t bytes_in_flight_ = 0;
  bool stopping_ = false;
  std::vector<std::jthread> threads_;  // last: they end first
};

ThreadedFetcher::ThreadedFetcher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ThreadedFetcher::~ThreadedFetcher() = default;

Result<std::unique_ptr<ThreadedFetcher>> ThreadedFetcher::make(const ThreadedFetcherOptions& options) {
  if (options.num_threads < 1 || options.most_bytes_in_flight == 0)
    return Error(ErrorCode::kInvalidArgument, "a fetcher needs a thread and bytes to hold");
  auto impl = std::make_unique<Impl>(options);
  HEADRACE_TRY(impl->start());
  return std::unique_ptr<ThreadedFetcher>(new ThreadedFetcher(std::move(impl)));
}

bool ThreadedFetcher::fetch(std::span<const FileRange> ranges, std::span<std::byte> buffer, Done done) {
  return impl_->fetch(ranges, buffer, std::move(done));
}

std::uint64_t ThreadedFetcher::bytes_in_flight() const {
  return impl_->bytes_in_flight();
}

}  // namespace headrace
