// EpochClaims: counts the block reads and the cache reads of an epoch, so that batches that come straight from memory
// count as needed what is left of it. An estimate: blocks that are claimed after such batches count beside them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <utility>

namespace headrace {

/// Claims of two epochs at a time, the one that is delivered and the next. Threads: any.
class EpochClaims {
 public:
  /// \param blocks   Of the data set.
  /// \param samples  Of an epoch, over all ranks.
  EpochClaims(std::uint64_t blocks, std::uint64_t samples) : blocks_(blocks), samples_(samples) {}

  /// Note that an epoch begins after `position` samples, once more perhaps. Claims that ran ahead into it stay counted.
  /// \return What samples that came from memory before it began count as needed, as add_gathered() says.
  [[nodiscard]] double start(std::uint64_t epoch, std::uint64_t position) {
    const std::lock_guard lock(mutex_);
    started_ = epoch;
    Epoch& e = at(epoch);
    const double ahead = std::exchange(e.ahead, 0.0);
    if (e.claims > 0 || e.start == position) return ahead;
    e.start = position;
    e.gathered_from = kNowhere;  // what an earlier run through this epoch left
    return 0;
  }
  /// Count blocks that were claimed for the first time in `epoch`.
  void add(std::uint64_t epoch, std::uint64_t claims = 1) {
    const std::lock_guard lock(mutex_);
    at(epoch).claims += claims;
  }
  /// Count all blocks: they were decoded for `epoch` before it began.
  void add_all(std::uint64_t epoch) { add(epoch, blocks_); }
  /// Note that a batch of `epoch` of so many samples, which begins after `position` of them, came from memory. \return
  /// What its samples count as needed, in decodes of a sample's share of a block: the blocks that were not claimed in
  /// the epoch, divided over its samples from the first such batch on. 0 where every block was claimed, and before the
  /// epoch begins.
  [[nodiscard]] double add_gathered(std::uint64_t epoch, std::uint64_t position, std::uint64_t samples) {
    const std::lock_guard lock(mutex_);
    Epoch& e = at(epoch);
    e.gathered_from = std::min(e.gathered_from, std::max(position, e.start));
    if (blocks_ == 0 || e.claims >= blocks_ || e.gathered_from >= samples_) return 0;
    const double blocks_left = 1 - static_cast<double>(e.claims) / static_cast<double>(blocks_);
    const double counted = static_cast<double>(samples) * blocks_left * static_cast<double>(samples_ - e.start) /
                           static_cast<double>(samples_ - e.gathered_from);
    if (epoch <= started_) return counted;
    e.ahead += counted;
    return 0;
  }

 private:
  static constexpr std::uint64_t kNowhere = ~std::uint64_t{0};
  struct Epoch {
    std::uint64_t number = ~std::uint64_t{0}, claims = 0, start = 0;
    std::uint64_t gathered_from = kNowhere;  // begin of the first batch from memory
    double ahead = 0;                        // what came from memory before the epoch began
  };
  Epoch& at(std::uint64_t epoch) {
    Epoch& e = epochs_[epoch & 1];
    if (e.number != epoch) e = {.number = epoch};
    return e;
  }

  const std::uint64_t blocks_, samples_;
  std::mutex mutex_;
  std::uint64_t started_ = 0;
  Epoch epochs_[2];  // by parity
};

}  // namespace headrace
