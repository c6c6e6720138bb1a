// EpochClaims: counts the block reads and the cache reads of an epoch, so that batches that come straight from memory
// count as needed what is left of it. An estimate: blocks that are claimed after such batches count beside them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>

namespace headrace {

/// Claims of two epochs at a time, the one that is delivered and the next. Threads: any.
class EpochClaims {
 public:
  /// \param blocks   Of the data set.
  /// \param samples  Of an epoch, over all ranks.
  EpochClaims(std::uint64_t blocks, std::uint64_t samples) : blocks_(blocks), samples_(samples) {}

  /// Note that an epoch begins after `position` samples, once more perhaps. Claims that ran ahead into it stay counted.
  void start(std::uint64_t epoch, std::uint64_t position) {
    const std::lock_guard lock(mutex_);
    Epoch& e = at(epoch);
    if (e.claims > 0 || e.start == position) return;
    e.start = position;
    e.gathered_from = kNowhere;  // what an earlier run through this epoch left
  }
  /// Count a block that was claimed for the first time in `epoch`.
  void add(std::uint64_t epoch) { add(epoch, 1); }
  /// Count all blocks: they were decoded for `epoch` before it began.
  void add_all(std::uint64_t epoch) { add(epoch, blocks_); }
  /// Note that a batch of `epoch` that begins after `position` samples came from memory. \return What each of its
  /// samples counts as needed, in decodes of a sample's share of a block: the blocks that were not claimed in the
  /// epoch, divided over its samples from the first such batch on. 0 where every block was claimed.
  [[nodiscard]] double add_gathered(std::uint64_t epoch, std::uint64_t position) {
    const std::lock_guard lock(mutex_);
    Epoch& e = at(epoch);
    e.gathered_from = std::min(e.gathered_from, std::max(position, e.start));
    if (blocks_ == 0 || e.claims >= blocks_ || e.gathered_from >= samples_) return 0;
    const double blocks_left = 1 - static_cast<double>(e.claims) / static_cast<double>(blocks_);
    return blocks_left * static_cast<double>(samples_ - e.start) / static_cast<double>(samples_ - e.gathered_from);
  }

 private:
  static constexpr std::uint64_t kNowhere = ~std::uint64_t{0};
  struct Epoch {
    std::uint64_t number = ~std::uint64_t{0}, claims = 0, start = 0;
    std::uint64_t gathered_from = kNowhere;  // begin of the first batch from memory
  };
  Epoch& at(std::uint64_t epoch) {
    Epoch& e = epochs_[epoch & 1];
    if (e.number != epoch) e = {.number = epoch};
    return e;
  }
  void add(std::uint64_t epoch, std::uint64_t claims) {
    const std::lock_guard lock(mutex_);
    at(epoch).claims += claims;
  }

  const std::uint64_t blocks_, samples_;
  std::mutex mutex_;
  Epoch epochs_[2];  // by parity
};

}  // namespace headrace
