// How many rows each of V streams gives to each batch.
//
// Stream v gives c_v(n) = floor((n + phi_v) / V) of the first n samples of an epoch, with phi_v the digit reversal of
// v. By Hermite's identity these sum to exactly n, for any n and V: so they do for every batch, of any size, from any
// position on. Stream v holds c_v(M) of M rows in all, so that all streams end on the same batch. With digit reversal
// every contiguous group of streams of a divisor's size gives a fixed share as well, which lets ranks own whole
// streams.
#pragma once

#include <cstdint>
#include <vector>

#include "base/divisor.h"

namespace headrace {

/// Factors of `streams` in ascending order, the radices of the digit reversal; outermost first.
std::vector<std::uint32_t> stream_radices(std::uint32_t streams);

/// phi_v for v = 0 … V-1: a permutation of 0 … V-1.
std::vector<std::uint32_t> digit_reversal(const std::vector<std::uint32_t>& radices);

class StreamShares {
 public:
  StreamShares(std::uint32_t streams, std::uint64_t rows)
      : phase_(digit_reversal(stream_radices(streams))), streams_(streams), rows_(rows) {}

  [[nodiscard]] std::uint32_t streams() const { return static_cast<std::uint32_t>(phase_.size()); }
  [[nodiscard]] std::uint32_t phase(std::uint32_t stream) const { return phase_[stream]; }
  /// Rows of the stream in the whole epoch.
  [[nodiscard]] std::uint64_t length(std::uint32_t stream) const { return delivered(stream, rows_); }
  /// Rows the stream gives to the first `samples` of the epoch.
  [[nodiscard]] std::uint64_t delivered(std::uint32_t stream, std::uint64_t samples) const {
    return streams_.divide(samples + phase_[stream]).quotient;
  }

 private:
  std::vector<std::uint32_t> phase_;
  Divisor streams_;
  std::uint64_t rows_;
};

}  // namespace headrace
