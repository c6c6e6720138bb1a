// Where each stream of a block shuffle lies on the line of all blocks.
//
// Streams are numbered in the order in which a batch has their samples, so that a rank, or a part of a batch, has
// streams that follow each other (stream_shares.h). If these lay side by side on the line, a rank would see one part of
// the files all epoch, and half of a batch would be of one half of the files. So the places are scattered: streams that
// follow each other, and streams that follow each other in phase (which is what a batch takes where it is smaller than
// the number of streams), are spread evenly over the line.
//
// With V = 2^a m, m odd, and a phase of t 2^a + k: place ((g(t) + r(k)) mod m) 2^a + s(k). s is the second coordinate
// of Sobol's sequence (Sobol 1967): 2^j phases k that follow each other, or that agree modulo 2^i, lie in different
// parts of 2^-j of the line. r is the first coordinate in m-ths, so that both together are spread evenly. (k mod m in
// its place is not: the first digit of s is the parity of k's ones, and multiples of 3 have an even number of them far
// more often than not, Newman 1969.) g orders 0 ... m-1 as the fractional parts of multiples of the golden ratio lie.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "order/stream_shares.h"

namespace headrace {

/// Return the place of each stream: a permutation of 0 ... V-1. \param phases  Of the streams, as StreamShares has
/// them.
std::vector<std::uint32_t> line_places(const std::vector<std::uint32_t>& phases);

/// The line cut into one piece for each stream, as long as its share. Immutable.
class LinePieces {
 public:
  explicit LinePieces(const StreamShares& shares);

  [[nodiscard]] std::uint32_t place(std::uint32_t stream) const { return place_[stream]; }
  [[nodiscard]] std::uint32_t stream(std::uint32_t place) const { return stream_[place]; }
  /// Return the row of the line with which a piece begins; of as many as there are, where the line ends.
  [[nodiscard]] std::uint64_t begin(std::uint32_t place) const { return begin_[place]; }
  /// Return the place of the piece that has a row of the line.
  [[nodiscard]] std::uint32_t find(std::uint64_t row) const {
    return static_cast<std::uint32_t>(std::ranges::upper_bound(begin_, row) - begin_.begin()) - 1;
  }
  /// Return what they hold for so many streams.
  [[nodiscard]] static std::uint64_t bytes_of(std::uint64_t streams) {
    return streams * (2 * sizeof(std::uint32_t) + sizeof(std::uint64_t));
  }

 private:
  std::vector<std::uint32_t> place_, stream_;
  std::vector<std::uint64_t> begin_;  ///< First row of each piece, and the line's rows.
};

}  // namespace headrace
