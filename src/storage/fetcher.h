// Fetcher: says when the bytes of some ranges are there. Local files are read at once by the caller; slow storage
// is read by threads of the fetcher's own, as many requests at once as it has threads, bounded in bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "storage/file_range.h"

namespace headrace {

/// Reads ranges and reports when they are there. Threads: all members from any thread.
class Fetcher {
 public:
  /// Called once a fetch, with no lock of the fetcher held: by the thread that asked, before fetch() returns, or by a
  /// thread of the fetcher. It may call fetch(). It must not throw.
  using Done = std::function<void(Status)>;

  virtual ~Fetcher() = default;
  Fetcher() = default;
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  /// Read `ranges` into `buffer`, one after the other, as read_ranges() does, and then call `done`. Ranges (the array
  /// of them, too), their files and the buffer must live until then.
  /// \return False if the fetcher has too many bytes in flight: nothing was taken and `done` will not be called. Ask
  ///         again after the `done` of another fetch; with nothing in flight every fetch is taken, however large.
  [[nodiscard]] virtual bool fetch(std::span<const FileRange> ranges, std::span<std::byte> buffer, Done done) = 0;
  /// Return the bytes that were taken and not reported yet.
  [[nodiscard]] virtual std::uint64_t bytes_in_flight() const = 0;
};

/// Reads on the calling thread: for files whose bytes are microseconds away. fetch() is always taken, and blocks.
class LocalFetcher final : public Fetcher {
 public:
  bool fetch(std::span<const FileRange> ranges, std::span<std::byte> buffer, Done done) override;
  [[nodiscard]] std::uint64_t bytes_in_flight() const override { return 0; }
};

struct ThreadedFetcherOptions {
  int num_threads = 16;  ///< Reads at once: storage with 30 ms a request needs many to be kept busy.
  std::uint64_t most_bytes_in_flight = std::uint64_t{64} << 20;
};

/// Reads on threads of its own, every range a request of its own. fetch() never blocks on storage. The destructor
/// waits for reads that have begun; the fetches that are not finished then report kCancelled.
class ThreadedFetcher final : public Fetcher {
 public:
  /// Errors: kInvalidArgument without threads or bytes; kOutOfBudget  the system starts no more threads.
  static Result<std::unique_ptr<ThreadedFetcher>> make(const ThreadedFetcherOptions& options);
  ~ThreadedFetcher() override;
  bool fetch(std::span<const FileRange> ranges, std::span<std::byte> buffer, Done done) override;
  [[nodiscard]] std::uint64_t bytes_in_flight() const override;

 private:
  class Impl;
  explicit ThreadedFetcher(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace headrace
