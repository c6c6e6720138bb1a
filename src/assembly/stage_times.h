// Where the time of the decode threads goes. Always on: a span is two clock reads and three relaxed stores.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace headrace {

enum class Stage : std::uint8_t { kRead, kDecode, kScatter, kIdle, kCount };
inline constexpr std::array<const char*, 4> kStageNames{"read", "decode", "scatter", "idle"};

/// Counters of one thread: it alone writes, anybody reads.
class alignas(64) StageTimes {
 public:
  struct Sum {
    std::uint64_t ns = 0, count = 0, bytes = 0;
  };
  void add(Stage stage, std::uint64_t ns, std::uint64_t bytes, std::uint64_t count = 1) {
    Cell& c = cells_[static_cast<std::size_t>(stage)];
    bump(c.ns, ns);
    bump(c.count, count);
    bump(c.bytes, bytes);
  }
  [[nodiscard]] Sum sum(Stage stage) const {
    const Cell& c = cells_[static_cast<std::size_t>(stage)];
    return {c.ns.load(std::memory_order_relaxed), c.count.load(std::memory_order_relaxed),
            c.bytes.load(std::memory_order_relaxed)};
  }
  /// Decoded bytes of the blocks that were decoded, and what one decode of each of their chunks would have been.
  void add_decodes(std::uint64_t decoded_bytes, std::uint64_t needed_bytes) {
    bump(decoded_, decoded_bytes);
    bump(needed_, needed_bytes);
  }
  [[nodiscard]] std::uint64_t decoded_bytes() const { return decoded_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t needed_bytes() const { return needed_.load(std::memory_order_relaxed); }
  void add_slow_pieces(std::uint64_t n) { bump(slow_, n); }
  [[nodiscard]] std::uint64_t slow_pieces() const { return slow_.load(std::memory_order_relaxed); }

 private:
  using Counter = std::atomic<std::uint64_t>;
  static void bump(Counter& c, std::uint64_t by) {
    c.store(c.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }
  struct Cell {
    Counter ns{0}, count{0}, bytes{0};
  };
  std::array<Cell, static_cast<std::size_t>(Stage::kCount)> cells_;
  Counter decoded_{0}, needed_{0}, slow_{0};
};

}  // namespace headrace
