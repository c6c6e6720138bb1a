// What one decode thread did: its stage clock, and the figures behind read amplification.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/stage_clock.h"

namespace headrace {

/// Writer: one thread. Readers: any.
class alignas(64) DecodeCounters {
 public:
  explicit DecodeCounters(StageClock& stage_clock) : clock(stage_clock) {}
  StageClock& clock;

  /// Decoded bytes of chunks that were decoded, and what one decode of each chunk needed would have been.
  void add_decodes(std::uint64_t decoded_bytes, std::uint64_t needed_bytes) {
    bump(decoded_, decoded_bytes);
    bump(needed_, needed_bytes);
  }
  void add_slow_piece() { bump(slow_, 1); }
  [[nodiscard]] std::uint64_t decoded_bytes() const { return decoded_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t needed_bytes() const { return needed_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t slow_pieces() const { return slow_.load(std::memory_order_relaxed); }

 private:
  using Counter = std::atomic<std::uint64_t>;
  static void bump(Counter& c, std::uint64_t by) {  // one writer: no locked instruction needed
    c.store(c.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }
  Counter decoded_{0}, needed_{0}, slow_{0};
};

}  // namespace headrace
