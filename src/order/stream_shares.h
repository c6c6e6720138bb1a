// How many rows each of V streams gives to each batch.
//
// Stream v gives c_v(n) = floor((n + phi_v) / V) of the first n samples of an epoch, with phi_v the digit reversal of
// v. By Hermite's identity these sum to exactly n, for any n and V: so they do for every batch, of any size, from any
// position on. Stream v holds c_v(M) of M rows in all, so that all streams end on the same batch. With digit reversal
// every contiguous group of streams of a divisor's size gives a fixed share as well, which lets ranks own whole
// streams.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/random/divisor.h"

namespace headrace {

/// Return the factors of `streams` in ascending order, the radices of the digit reversal; outermost first.
std::vector<std::uint32_t> stream_radices(std::uint32_t streams);

/// Return phi_v for v = 0 … V-1: a permutation of 0 … V-1.
std::vector<std::uint32_t> digit_reversal(const std::vector<std::uint32_t>& radices);

class StreamShares {
 public:
  StreamShares(std::uint32_t streams, std::uint64_t rows)
      : phase_(digit_reversal(stream_radices(streams))), streams_(streams), rows_(rows) {}

  [[nodiscard]] std::uint32_t streams() const { return static_cast<std::uint32_t>(phase_.size()); }
  [[nodiscard]] std::uint32_t phase(std::uint32_t stream) const { return phase_[stream]; }
  [[nodiscard]] const std::vector<std::uint32_t>& phases() const { return phase_; }
  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  /// Return the rows of the stream in the whole epoch.
  [[nodiscard]] std::uint64_t length(std::uint32_t stream) const { return delivered(stream, rows_); }
  /// Return the rows the stream gives to the first `samples` of the epoch.
  [[nodiscard]] std::uint64_t delivered(std::uint32_t stream, std::uint64_t samples) const {
    return streams_.divide(samples + phase_[stream]).quotient;
  }

 private:
  std::vector<std::uint32_t> phase_;
  Divisor streams_;
  std::uint64_t rows_;
};

/// Which streams give to a step. Takes time for these streams, not for all of them. Not thread-safe; the shares outlive
/// it.
class StreamsOfStep {
 public:
  explicit StreamsOfStep(const StreamShares& shares);
  /// Call `work(stream, from, count)` for each stream that gives something to samples [begin, end) of the epoch,
  /// streams ascending: rows [from, from + count) of the stream.
  template <class Work>
  void visit(std::uint64_t begin, std::uint64_t end, Work work) {
    const std::uint32_t streams = shares_->streams();
    const auto give = [&](std::uint32_t v) {
      const std::uint64_t from = shares_->delivered(v, begin);
      work(v, from, shares_->delivered(v, end) - from);
    };
    if (end - begin >= streams) {
      for (std::uint32_t v = 0; v < streams; ++v) give(v);
      return;
    }
    // Sample n is of the stream whose share rises with it: phase V - 1 - n modulo V.
    auto phase = static_cast<std::uint32_t>(streams - 1 - begin % streams);
    for (std::uint64_t n = begin; n < end; ++n, phase = phase == 0 ? streams - 1 : phase - 1) {
      const std::uint32_t v = stream_of_phase_[phase];
      gives_[v / 64] |= std::uint64_t{1} << v % 64;
    }
    for (std::size_t w = 0; w < gives_.size(); ++w)
      for (std::uint64_t word = std::exchange(gives_[w], 0); word != 0; word &= word - 1)
        give(static_cast<std::uint32_t>(w * 64) + static_cast<std::uint32_t>(std::countr_zero(word)));
  }
  /// Return what it holds for so many streams.
  [[nodiscard]] static std::uint64_t bytes_of(std::uint64_t streams) {
    return streams * sizeof(std::uint32_t) + (streams / 64 + 1) * sizeof(std::uint64_t);
  }

 private:
  const StreamShares* shares_;
  std::vector<std::uint32_t> stream_of_phase_;
  std::vector<std::uint64_t> gives_;  ///< A bit a stream; none is set between calls.
};

}  // namespace headrace
