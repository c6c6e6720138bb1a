// KeepPolicy: which decoded blocks are kept for later, of those that could be.
//
// Keeping a block costs time now (fresh memory, a copy, encoding) and saves its decoding later. A consumer that waits
// for its first batches should not pay for epochs to come, so a block is kept
//   - when batches are ready ahead of the consumer: that time delays no batch;
//   - when this epoch will need the block again, unless keeping it costs more than decoding it twice;
//   - else, once the first batch was delivered, while all of that keeping took at most a share of the other work, and
//   what kept blocks have saved since.
// With the share of 12 % the first epoch takes at most that much longer, and later epochs spend what they save on the
// blocks that are still missing: all are kept after a few epochs. docs/decisions/0018 has the figures.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>

namespace headrace {

/// Threads: any.
class KeepPolicy {
 public:
  static constexpr double kShare = 0.12;
  /// \param share  Of the other work, that keeping may add while a consumer may wait; infinite: everything is kept.
  explicit KeepPolicy(double share = kShare) : share_(share), everything_(std::isinf(share)) {}

  /// When a block comes up.
  struct Moment {
    bool ahead = false;         ///< The consumer does not wait for it.
    bool wanted_again = false;  ///< Before the epoch ends.
    bool starting = false;      ///< The consumer waits for its very first batch.
  };

  [[nodiscard]] double share() const {
    return everything_.load(std::memory_order_relaxed) ? std::numeric_limits<double>::infinity() : share_;
  }
  /// Keep every block from now on: the user asked for that.
  void keep_everything() { everything_.store(true, std::memory_order_relaxed); }
  /// Return true if a block should be kept now.
  [[nodiscard]] bool allows(Moment moment) const;

  /// Note that a block of `bytes` was decoded and served in `work_ns`; to keep it took `keep_ns` more, 0 where it was
  /// not kept.
  void add_decode(Moment moment, std::uint64_t bytes, std::uint64_t work_ns, std::uint64_t keep_ns);
  /// Note that a block of `bytes` was served from where it is kept.
  void add_hit(std::uint64_t bytes, std::uint64_t work_ns);

  struct Totals {
    std::uint64_t decode_ns = 0, decode_bytes = 0;  ///< Without keeping.
    std::uint64_t keep_ns = 0, keep_bytes = 0;      ///< At any moment.
    std::uint64_t owed_ns = 0;                      ///< Part of `keep_ns`, while the consumer may have waited.
    std::uint64_t hit_ns = 0, hit_bytes = 0;
    std::uint64_t saved_ns = 0;  ///< By blocks that were kept.
  };
  [[nodiscard]] Totals totals() const;

 private:
  using Count = std::atomic<std::uint64_t>;
  const double share_;
  std::atomic<bool> everything_;
  Count decode_ns_{0}, decode_bytes_{0}, keep_ns_{0}, keep_bytes_{0}, owed_ns_{0}, hit_ns_{0}, hit_bytes_{0},
      saved_ns_{0};
};

}  // namespace headrace
