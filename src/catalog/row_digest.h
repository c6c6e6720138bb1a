// Exactly once, proved: sums over the rows that were really put in their places.
//
// Every copy adds a hash of (which row, which place) to the batch's digest. Both are worked out from the addresses that
// were copied from and to (copy_digest.h), never from the request: a copy that takes another row, another place, or a
// row twice adds something else. The plan adds up the same from what the sampler says. Sums modulo 2^64, not xor: a row
// that comes twice does not cancel out. Power sums of the rows' numbers are compared with the closed forms of the whole
// data set, which no plan is part of; sums of ranks add up.
#pragma once

#include <cstdint>

namespace headrace {

/// Return the hash of `count` rows from number `row` on that lie at `place` and the following places. It adds up:
/// however a run is cut, the hashes of its parts sum to the hash of the whole. (A hash of the distance, times the
/// difference of a quadratic polynomial at the run's ends.)
inline std::uint64_t run_hash(std::uint64_t row, std::uint64_t place, std::uint64_t count = 1) {
  __extension__ using uint128 = unsigned __int128;
  const uint128 product = static_cast<uint128>((place - row) * 0x9E3779B97F4A7C15u + 0xD1B54A32D192ED03u) *
                          ((place - row) ^ 0xC2B2AE3D27D4EB4Fu);
  const std::uint64_t distance = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  return distance * count * (0x8CB92BA72F3D8DD7u + 0xABC98388FB8FAC03u * (2 * row + count));
}
/// Return the weight of a piece of a field's row, odd.
inline std::uint64_t piece_weight(std::uint64_t field, std::uint64_t piece) {
  return (field * 0x632BE59BD9B4E019u + piece * 0xA24BAED4963EE407u) << 1 | 1;
}
/// Return what all pieces of a field's row weigh together, however many there are.
inline std::uint64_t field_weight(std::uint64_t field) {
  return piece_weight(field, 0);
}
/// Return what a row weighs, all its fields together.
inline std::uint64_t row_weight(std::uint64_t num_fields) {
  std::uint64_t sum = 0;
  for (std::uint64_t f = 0; f < num_fields; ++f) sum += field_weight(f);
  return sum;
}
/// Return the weight of piece `i` of `n` of a field's row: each has its own, so that none can take another's place, and
/// together they weigh field_weight().
inline std::uint64_t part_weight(std::uint64_t field, std::uint64_t i, std::uint64_t n) {
  if (i + 1 < n) return piece_weight(field, i + 1);
  const std::uint64_t others = n - 1;  // pieces 1 ... n-1 of piece_weight()
  const std::uint64_t numbers = n % 2 == 0 ? n / 2 * others : n * (others / 2);
  return field_weight(field) - (2 * (others * field * 0x632BE59BD9B4E019u + numbers * 0xA24BAED4963EE407u) + others);
}

/// Sums over rows' numbers in the data set, modulo 2^64.
struct RowSums {
  std::uint64_t rows = 0, first = 0, second = 0, third = 0;

  void add(std::uint64_t row) {
    ++rows;
    first += row;
    second += row * row;
    third += row * row * row;
  }
  RowSums& operator+=(const RowSums& other) {
    rows += other.rows;
    first += other.first;
    second += other.second;
    third += other.third;
    return *this;
  }
  /// Return the sums of rows 0 … n-1, in closed form.
  static RowSums of_all(std::uint64_t n) {
    __extension__ using uint128 = unsigned __int128;
    if (n == 0) return {};
    const uint128 pairs = static_cast<uint128>(n) * (n - 1) / 2;
    // n(n-1)(2n-1)/6: a third of pairs·(2n-1), which is a whole number; divided before it can overflow.
    const std::uint64_t odd = 2 * n - 1;
    const uint128 squares = pairs % 3 == 0 ? pairs / 3 * odd : pairs * (odd / 3);
    const auto low = static_cast<std::uint64_t>(pairs);
    return {n, low, static_cast<std::uint64_t>(squares), low * low};
  }
  friend bool operator==(const RowSums&, const RowSums&) = default;
};

/// What was put in place.
struct RowDigest {
  std::uint64_t placed = 0;
  RowSums sums;
  RowDigest& operator+=(const RowDigest& other) {
    placed += other.placed;
    sums += other.sums;
    return *this;
  }
};

}  // namespace headrace
