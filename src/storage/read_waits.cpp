#include "storage/read_waits.h"

#include <sys/resource.h>

#include <atomic>

#include "base/clock.h"

namespace headrace {
namespace {

// What a call takes that finds everything in memory: a few microseconds, and a copy at the pace of a slow machine.
constexpr std::uint64_t kCallNs = 20'000, kBytesPerNs = 2;
// Asking the system how often a thread was blocked takes 0.4 us: as long as a small read from memory.
constexpr std::uint64_t kSmallBytes = 16 << 10, kNotAsked = ~std::uint64_t{0};

// A running mean of all threads: one that is lost when two of them meet does not matter.
constexpr double kNewest = 1.0 / 16, kLateNs = 300'000;
std::atomic<double> mean_wait_ns{0};

struct OfThread {
  std::uint64_t waited_ns = 0;
  bool last_was_long = false;  // the last call, whether the thread waited in it or not
};
OfThread& of_thread() {
  thread_local OfThread sums;
  return sums;
}

/// How often the calling thread gave its processor away by itself.
std::uint64_t times_blocked() {
  rusage usage{};
  return ::getrusage(RUSAGE_THREAD, &usage) == 0 ? static_cast<std::uint64_t>(usage.ru_nvcsw) : 0;
}

/// Small reads, of which there may be very many, are asked about while they take long.
bool is_asked_about(std::uint64_t bytes) {
  return bytes == 0 || bytes >= kSmallBytes || of_thread().last_was_long;
}

}  // namespace

TimedFileCall::TimedFileCall(std::uint64_t bytes)
    : bytes_(bytes), blocked_(is_asked_about(bytes) ? times_blocked() : kNotAsked), start_ns_(now_ns()) {}

TimedFileCall::~TimedFileCall() {
  const std::uint64_t took_ns = now_ns() - start_ns_, usual_ns = kCallNs + bytes_ / kBytesPerNs;
  OfThread& sums = of_thread();
  sums.last_was_long = took_ns > usual_ns;
  if (blocked_ == kNotAsked) return;
  const std::uint64_t waited_ns = sums.last_was_long && times_blocked() != blocked_ ? took_ns - usual_ns : 0;
  sums.waited_ns += waited_ns;
  const double mean = mean_wait_ns.load(std::memory_order_relaxed);
  mean_wait_ns.store(mean + kNewest * (static_cast<double>(waited_ns) - mean), std::memory_order_relaxed);
}

bool files_answer_late() {
  return mean_wait_ns.load(std::memory_order_relaxed) > kLateNs;
}

WaitsHere::WaitsHere() : before_ns_(of_thread().waited_ns) {}

std::uint64_t WaitsHere::waited_ns() const {
  return of_thread().waited_ns - before_ns_;
}

}  // namespace headrace
