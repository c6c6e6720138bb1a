// LengthIndex: how long every sample is, known before a byte of it is read.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "order/sampler.h"

namespace headrace {

/// Immutable. Threads: any.
class LengthIndex {
 public:
  virtual ~LengthIndex() = default;
  /// Write the length of each of `samples` to `lengths`, which is as long. Lengths beyond 2^32 - 1 are given as that.
  virtual void lengths(std::span<const SampleRef> samples, std::span<std::uint32_t> lengths) const = 0;
  /// Return 64 bits that stand for all lengths: plans made from other lengths are other plans.
  [[nodiscard]] virtual std::uint64_t digest() const = 0;
  [[nodiscard]] virtual std::uint64_t memory_bytes() const = 0;
};

/// Lengths held in memory: two bytes a sample, 16 more for each of 65,535 and above, eight a block.
class StoredLengths final : public LengthIndex {
 public:
  /// \param lengths  One for each row of the table, in its order.
  StoredLengths(const BlockTable& blocks, std::span<const std::uint32_t> lengths);

  void lengths(std::span<const SampleRef> samples, std::span<std::uint32_t> lengths) const override;
  [[nodiscard]] std::uint64_t digest() const override { return digest_; }
  [[nodiscard]] std::uint64_t memory_bytes() const override;

 private:
  static constexpr std::uint16_t kLong = 0xFFFF;
  std::vector<std::uint64_t> first_row_;  // of each block
  std::vector<std::uint16_t> short_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> long_;  // row and length, ascending
  std::uint64_t digest_ = 0;
};

}  // namespace headrace
