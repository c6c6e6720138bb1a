// EpochClaims: how much of an epoch was asked for block by block, so that batches that come straight from memory count
// as needed what is left of it. An estimate: blocks that are claimed after such batches count beside them.
#pragma once

#include <cstdint>
#include <mutex>

namespace headrace {

/// Of two epochs at a time, the one that is delivered and the next. Threads: any.
class EpochClaims {
 public:
  /// \param blocks  Of the data set.
  explicit EpochClaims(std::uint64_t blocks) : blocks_(blocks) {}

  /// A block was claimed for the first time in `epoch`.
  void add(std::uint64_t epoch) { add(epoch, 1); }
  /// All blocks were decoded for `epoch` before it began.
  void add_all(std::uint64_t epoch) { add(epoch, blocks_); }
  /// Return the share of the blocks that was not claimed in `epoch`.
  [[nodiscard]] double rest(std::uint64_t epoch) const {
    const std::lock_guard lock(mutex_);
    const Epoch& e = epochs_[epoch & 1];
    if (e.number != epoch || blocks_ == 0) return 1;
    return e.claims >= blocks_ ? 0 : 1 - static_cast<double>(e.claims) / static_cast<double>(blocks_);
  }

 private:
  struct Epoch {
    std::uint64_t number = 0, claims = 0;
  };
  void add(std::uint64_t epoch, std::uint64_t claims) {
    const std::lock_guard lock(mutex_);
    Epoch& e = epochs_[epoch & 1];
    if (e.number != epoch) e = {epoch, 0};
    e.claims += claims;
  }

  const std::uint64_t blocks_;
  mutable std::mutex mutex_;
  Epoch epochs_[2];  // by parity
};

}  // namespace headrace
