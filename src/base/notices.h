// Notices: what the user of a loader should know, one sentence each, in the order in which it came up.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace headrace {

/// A bounded list that only grows. Threads: any.
class Notices {
 public:
  enum class Of : std::uint8_t {
    kPlan,  ///< Settings make things worse than they need be.
    kRun,   ///< Something went wrong since: a cache is not used, a thread was not started.
  };
  static constexpr std::size_t kMost = 32;  ///< Then one more says that there were others.

  /// Add a text that is not there yet.
  void add(Of of, const std::string& text);
  [[nodiscard]] std::vector<std::string> all() const;
  [[nodiscard]] std::vector<std::string> all(Of of) const;
  /// Return how many there are: costs an atomic load, so that a consumer can ask after every batch.
  [[nodiscard]] std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  mutable std::mutex mutex_;
  struct Notice {
    Of of;
    std::string text;
  };
  std::vector<Notice> notices_;
  std::atomic<std::uint64_t> count_{0};
};

}  // namespace headrace
