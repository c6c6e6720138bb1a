// Where the time goes: always on, cheap enough to leave on. Each thread adds to its own StageClock; all may sum a
// StageBoard at any time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string_view>

#include "base/clock.h"

namespace headrace {

/// What a decode thread is doing.
enum class Stage : std::uint8_t {
  kRead,      ///< Waiting for bytes of files.
  kDecode,    ///< Filters, byte order, conversion.
  kScatter,   ///< Moving rows into batch slots, transforms included.
  kCache,     ///< Keeping decoded blocks, and decoding what was kept encoded.
  kWaitWork,  ///< A decode thread has nothing that it may claim: the consumer or the memory is the limit.
};
inline constexpr std::size_t kStageCount = 5;
/// Return "read", "wait for work", …
std::string_view to_string(Stage stage);

struct StageTotals {
  std::uint64_t ns = 0, count = 0, bytes = 0;
  friend bool operator==(const StageTotals&, const StageTotals&) = default;
};
using StageTable = std::array<StageTotals, kStageCount>;

/// The times of one thread. Writer: that thread only. Readers: any.
class alignas(64) StageClock {
 public:
  void add(Stage stage, std::uint64_t ns, std::uint64_t bytes = 0, std::uint64_t count = 1) {
    Cell& cell = cells_[static_cast<std::size_t>(stage)];
    bump(cell.ns, ns);
    bump(cell.count, count);
    bump(cell.bytes, bytes);
  }
  [[nodiscard]] StageTable totals() const;

 private:
  struct Cell {
    std::atomic<std::uint64_t> ns{0}, count{0}, bytes{0};
  };
  // One writer: a plain addition that readers can see, without the locked instruction of fetch_add.
  static void bump(std::atomic<std::uint64_t>& value, std::uint64_t by) {
    value.store(value.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }
  std::array<Cell, kStageCount> cells_;
};

/// The clocks of all threads of one loader. Clocks live as long as the board.
class StageBoard {
 public:
  StageBoard() = default;
  StageBoard(const StageBoard&) = delete;
  StageBoard& operator=(const StageBoard&) = delete;

  /// Make a clock for the calling thread, or for a thread about to start.
  StageClock& add_thread();

  [[nodiscard]] StageTable totals() const;

 private:
  mutable std::mutex mutex_;
  std::deque<StageClock> clocks_;  // a deque never moves its elements
};

/// Time from here to the end of the block, for one stage; two clock reads. Spans of one thread do not nest: a stage
/// that ends where the next begins is switch_to(), one clock read. Without a clock it does nothing.
class StageSpan {
 public:
  StageSpan(StageClock* clock, Stage stage) : clock_(clock), stage_(stage), start_ns_(clock ? now_ns() : 0) {}
  StageSpan(StageClock& clock, Stage stage) : StageSpan(&clock, stage) {}
  StageSpan(const StageSpan&) = delete;
  StageSpan& operator=(const StageSpan&) = delete;
  ~StageSpan() { stop(); }

  void add_bytes(std::uint64_t bytes) { bytes_ += bytes; }
  void switch_to(Stage stage) {
    if (clock_ == nullptr) return;
    const std::uint64_t now = now_ns();
    clock_->add(stage_, now - start_ns_, bytes_);
    stage_ = stage;
    start_ns_ = now;
    bytes_ = 0;
  }
  /// End the span before the block does.
  void stop() {
    if (clock_ != nullptr) clock_->add(stage_, now_ns() - start_ns_, bytes_);
    clock_ = nullptr;
  }

 private:
  StageClock* clock_;
  Stage stage_;
  std::uint64_t start_ns_, bytes_ = 0;
};

}  // namespace headrace
