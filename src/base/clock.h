// One clock for spans and reports.
#pragma once

#include <chrono>
#include <cstdint>

namespace headrace {

/// Monotonic time in nanoseconds; 20-40 ns a call.
inline std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

}  // namespace headrace
