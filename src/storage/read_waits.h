// What a thread waits for files: which are late, and which are in memory.
#pragma once

#include <cstdint>

namespace headrace {

/// Measures one call on a file, from construction to destruction: opening, reading, looking at a path. The thread
/// waited if the call took longer than a copy out of memory does, and the thread gave its processor away by itself
/// meanwhile: one that was only interrupted had its bytes from memory.
class TimedFileCall {
 public:
  explicit TimedFileCall(std::uint64_t bytes = 0);
  ~TimedFileCall();
  TimedFileCall(const TimedFileCall&) = delete;
  TimedFileCall& operator=(const TimedFileCall&) = delete;

 private:
  const std::uint64_t bytes_, blocked_, start_ns_;
};

/// Measures what the calling thread waits for files between construction and waited_ns().
class WaitsHere {
 public:
  WaitsHere();
  [[nodiscard]] std::uint64_t waited_ns() const;

 private:
  const std::uint64_t before_ns_;
};

/// Return true if this process's calls on files waited so long lately that reading ahead of decoding pays.
bool files_answer_late();

}  // namespace headrace
