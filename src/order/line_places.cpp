#include "order/line_places.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <numeric>

namespace headrace {
namespace {

/// The first coordinate of Sobol's sequence as a whole number below 2^bits.
std::uint32_t reversed(std::uint32_t k, unsigned bits) {
  std::uint32_t place = 0;
  for (unsigned i = 0; i < bits; ++i) place |= (k >> i & 1) << (bits - 1 - i);
  return place;
}

/// The second coordinate of Sobol's sequence as a whole number below 2^bits: row i of its matrix has Pascal's triangle
/// modulo 2, in which j over i is odd where the bits of i are among those of j (Lucas 1878).
std::uint32_t sobol(std::uint32_t k, unsigned bits) {
  std::uint32_t place = 0;
  for (std::uint32_t i = 0; i < bits; ++i) {
    unsigned odd = 0;
    for (std::uint32_t j = i; j < bits; ++j)
      if ((i & j) == i) odd ^= k >> j & 1;
    place |= odd << (bits - 1 - i);
  }
  return place;
}

/// Ranks of the fractional parts of 0, f, 2f ..., f the golden ratio.
std::vector<std::uint32_t> golden_ranks(std::uint32_t size) {
  const auto part = [](std::uint32_t i) {
    const double multiple = i * (std::numbers::phi - 1);
    return multiple - std::floor(multiple);
  };
  std::vector<std::uint32_t> sorted(size), ranks(size);
  std::iota(sorted.begin(), sorted.end(), 0);
  std::ranges::sort(sorted, {}, part);
  for (std::uint32_t rank = 0; rank < size; ++rank) ranks[sorted[rank]] = rank;
  return ranks;
}

}  // namespace

std::vector<std::uint32_t> line_places(const std::vector<std::uint32_t>& phases) {
  const auto streams = static_cast<std::uint32_t>(phases.size());
  std::vector<std::uint32_t> places(streams);
  if (streams == 0) return places;
  const auto bits = static_cast<unsigned>(std::countr_zero(streams));
  const std::uint32_t coarse = streams >> bits;
  const std::vector<std::uint32_t> golden = golden_ranks(coarse);
  for (std::uint32_t v = 0; v < streams; ++v) {
    const std::uint32_t k = phases[v] & ((std::uint32_t{1} << bits) - 1), t = phases[v] >> bits;
    const std::uint64_t part = (std::uint64_t{reversed(k, bits)} * coarse) >> bits;
    places[v] = static_cast<std::uint32_t>((golden[t] + part) % coarse << bits) + sobol(k, bits);
  }
  return places;
}

LinePieces::LinePieces(const StreamShares& shares)
    : place_(line_places(shares.phases())), stream_(place_.size()), begin_(1, 0) {
  for (std::uint32_t v = 0; v < stream_.size(); ++v) stream_[place_[v]] = v;
  for (const std::uint32_t v : stream_) begin_.push_back(begin_.back() + shares.length(v));
}

}  // namespace headrace
