#include "storage/read_waits.h"

#include <sys/resource.h>

#include "base/clock.h"

namespace headrace {
namespace {

// What a call takes that finds everything in memory: a few microseconds, and a copy at the pace of a slow machine.
constexpr std::uint64_t kCallNs = 20'000, kBytesPerNs = 2;

/// How often the calling thread gave its processor away by itself, which reads do that have to wait.
std::uint64_t times_blocked() {
  rusage usage{};
  return ::getrusage(RUSAGE_THREAD, &usage) == 0 ? static_cast<std::uint64_t>(usage.ru_nvcsw) : 0;
}

}  // namespace

ReadWaits& read_waits_of_thread() {
  thread_local ReadWaits waits;
  return waits;
}

TimedFileCall::TimedFileCall(std::uint64_t bytes) : bytes_(bytes), start_ns_(now_ns()) {}

TimedFileCall::~TimedFileCall() {
  const std::uint64_t took_ns = now_ns() - start_ns_, usual_ns = kCallNs + bytes_ / kBytesPerNs;
  ReadWaits& sums = read_waits_of_thread();
  ++sums.calls;
  sums.bytes += bytes_;
  sums.call_ns += took_ns;
  if (took_ns > usual_ns) sums.over_ns += took_ns - usual_ns;
}

WaitsHere::WaitsHere() : before_(read_waits_of_thread()), blocked_(times_blocked()) {}

std::uint64_t WaitsHere::waited_ns() const {
  const std::uint64_t over_ns = (read_waits_of_thread() - before_).over_ns;
  return over_ns > 0 && times_blocked() != blocked_ ? over_ns : 0;
}

}  // namespace headrace
