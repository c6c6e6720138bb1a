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

  /// Add the decoded bytes of chunks that were decoded, and what one decode of each chunk needed would have been.
  void add_decodes(std::uint64_t decoded_bytes, std::uint64_t needed_bytes) {
    bump(decoded_, decoded_bytes);
    bump(needed_, needed_bytes);
  }
  void add_slow_piece() { bump(slow_, 1); }
  /// Add requests that were compared with rows at hand: near the rows that were wanted, however small the pieces are.
  void add_requests_scanned(std::uint64_t requests) { bump(requests_scanned_, requests); }
  /// Note what the thread has allocated by now, as a budget counts it; the most is remembered.
  void hold(std::uint64_t scratch_bytes, std::uint64_t read_buffer_bytes) {
    raise(peak_scratch_, scratch_bytes);
    raise(peak_read_buffer_, read_buffer_bytes);
  }
  [[nodiscard]] std::uint64_t peak_scratch_bytes() const { return peak_scratch_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t peak_read_buffer_bytes() const {
    return peak_read_buffer_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t decoded_bytes() const { return decoded_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t needed_bytes() const { return needed_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t slow_pieces() const { return slow_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t requests_scanned() const { return requests_scanned_.load(std::memory_order_relaxed); }

 private:
  using Counter = std::atomic<std::uint64_t>;
  static void bump(Counter& c, std::uint64_t by) {  // one writer: no locked instruction needed
    c.store(c.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }
  static void raise(Counter& c, std::uint64_t to) {
    if (c.load(std::memory_order_relaxed) < to) c.store(to, std::memory_order_relaxed);
  }
  Counter decoded_{0}, needed_{0}, slow_{0}, requests_scanned_{0}, peak_scratch_{0}, peak_read_buffer_{0};
};

}  // namespace headrace
