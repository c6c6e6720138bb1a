// ReadWaits: what a thread's calls on files took, and how much of that it waited for a file system that answers late.
#pragma once

#include <cstdint>

namespace headrace {

/// Sums over the calls that one thread made on files: opening, reading, looking at a path.
struct ReadWaits {
  std::uint64_t calls = 0, bytes = 0;
  std::uint64_t call_ns = 0;  ///< Time in those calls.
  /// What is left of that beside copying the bytes and a few microseconds a call. A thread that was interrupted in a
  /// call seems to have waited, too: has_blocked() tells.
  std::uint64_t over_ns = 0;

  friend ReadWaits operator-(const ReadWaits& a, const ReadWaits& b) {
    return {a.calls - b.calls, a.bytes - b.bytes, a.call_ns - b.call_ns, a.over_ns - b.over_ns};
  }
};

/// Return the sums of the calling thread, for it to read, and for calls on files to add to.
ReadWaits& read_waits_of_thread();

/// Adds one call on a file to the sums of the calling thread, from construction to destruction.
class TimedFileCall {
 public:
  explicit TimedFileCall(std::uint64_t bytes = 0);
  ~TimedFileCall();
  TimedFileCall(const TimedFileCall&) = delete;
  TimedFileCall& operator=(const TimedFileCall&) = delete;

 private:
  const std::uint64_t bytes_, start_ns_;
};

/// Measures what the calling thread waits for files between construction and waited_ns().
class WaitsHere {
 public:
  WaitsHere();
  /// Return the nanoseconds of `over_ns` since then; 0 where the thread never gave its processor away by itself, so
  /// that all bytes came from memory.
  [[nodiscard]] std::uint64_t waited_ns() const;

 private:
  ReadWaits before_;
  std::uint64_t blocked_;
};

}  // namespace headrace
