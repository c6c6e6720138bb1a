// How many rows each of V streams gives to each batch.
//
// Before batch g, stream v has delivered c_v(g) = floor((g·G + phi_v) / V) rows, with phi_v the digit reversal of v. By
// Hermite's identity every batch sums to exactly G, for any G and V. Stream v holds c_v at g·G = M rows in all, so that
// all streams end on the same batch. With digit reversal every contiguous group of streams of a divisor's size gives a
// fixed share as well, which is what lets ranks own whole streams.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace headrace {

/// Factors of `streams` in ascending order, the radices of the digit reversal; outermost first.
std::vector<std::uint32_t> stream_radices(std::uint32_t streams);

/// phi_v for v = 0 … V-1: a permutation of 0 … V-1.
std::vector<std::uint32_t> digit_reversal(const std::vector<std::uint32_t>& radices);

class StreamShares {
 public:
  StreamShares(std::uint32_t streams, std::uint64_t rows, std::uint64_t batch_rows);

  [[nodiscard]] std::uint32_t streams() const { return static_cast<std::uint32_t>(phase_.size()); }
  [[nodiscard]] std::uint32_t phase(std::uint32_t stream) const { return phase_[stream]; }
  /// Rows of the stream in the whole epoch.
  [[nodiscard]] std::uint64_t length(std::uint32_t stream) const { return (rows_ + phase_[stream]) / phase_.size(); }
  /// Rows the stream has delivered before `batch`.
  [[nodiscard]] std::uint64_t delivered(std::uint32_t stream, std::uint64_t batch) const {
    return (std::min(batch * batch_rows_, rows_) + phase_[stream]) / phase_.size();
  }

 private:
  std::vector<std::uint32_t> phase_;
  std::uint64_t rows_, batch_rows_;
};

}  // namespace headrace
