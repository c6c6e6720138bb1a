// LogHistogram: how long something took each time, in buckets that grow with the time.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace headrace {

/// Holds 64 x 8 buckets: eight to each power of two, so that a quantile is at most an eighth too large.
/// Threads: one adds, any may read meanwhile.
class LogHistogram {
 public:
  void add(std::uint64_t value) {
    std::atomic<std::uint64_t>& bucket = buckets_[bucket_of(value)];
    bucket.store(bucket.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  /// Return a value that this share of all values does not exceed, rounded up to its bucket's end; 0 without values.
  [[nodiscard]] std::uint64_t quantile(double share) const {
    std::array<std::uint64_t, kBuckets> counts{};
    std::uint64_t all = 0, seen = 0;
    for (std::size_t b = 0; b < kBuckets; ++b) all += counts[b] = buckets_[b].load(std::memory_order_relaxed);
    for (std::size_t b = 0; b < kBuckets; ++b) {
      seen += counts[b];
      if (all > 0 && static_cast<double>(seen) >= share * static_cast<double>(all)) return end_of(b);
    }
    return 0;
  }

 private:
  static constexpr unsigned kFineBits = 3, kFine = 1 << kFineBits;
  static constexpr std::size_t kBuckets = (64 - kFineBits + 1) * kFine;

  /// Return the bucket of a value: values below eight have buckets of their own.
  static std::size_t bucket_of(std::uint64_t value) {
    if (value < kFine) return value;
    const auto shift = static_cast<unsigned>(std::bit_width(value)) - kFineBits - 1;
    return (shift + 1) * kFine + static_cast<std::size_t>((value >> shift) - kFine);
  }
  /// Return the largest value of a bucket.
  static std::uint64_t end_of(std::size_t bucket) {
    if (bucket < kFine) return bucket;
    const std::size_t shift = bucket / kFine - 1;
    return ((static_cast<std::uint64_t>(kFine + bucket % kFine) + 1) << shift) - 1;
  }

  std::array<std::atomic<std::uint64_t>, kBuckets> buckets_{};
};

}  // namespace headrace
