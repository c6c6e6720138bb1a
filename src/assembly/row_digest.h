// Exactly once, proved: sums over the rows of a batch that were really put in their places.
//
// A hash of (file, row, position) is added when a row is scattered, once for each stored piece of the row, with the row
// number taken from the piece that was decoded. The plan adds up the same for the positions it wanted. Sums modulo
// 2^64, not xor: a row that comes twice does not cancel out. Power sums of the rows' numbers are compared with the
// closed forms of the whole data set, which no plan is part of; sums of ranks add up.
#pragma once

#include <cstdint>

namespace headrace {

/// Of a row of a file at a position of the epoch.
inline std::uint64_t place_hash(std::uint64_t file, std::uint64_t row, std::uint64_t position) {
  __extension__ using uint128 = unsigned __int128;
  const uint128 product = static_cast<uint128>((row ^ (file << 40)) * 0x9E3779B97F4A7C15u + 0xD1B54A32D192ED03u) *
                          (position * 0xC2B2AE3D27D4EB4Fu | 1);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}
/// Of a piece of the row; odd, so that no other piece can take its place.
inline std::uint64_t piece_weight(std::uint64_t array, std::uint64_t across) {
  return (array * 0x632BE59BD9B4E019u + across * 0xA24BAED4963EE407u) << 1 | 1;
}
/// Sum of piece_weight(array, i) for i < n: rows may be spread over very many pieces.
inline std::uint64_t sum_of_piece_weights(std::uint64_t array, std::uint64_t n) {
  const std::uint64_t pairs = n % 2 == 0 ? n / 2 * (n - 1) : n * ((n - 1) / 2);
  return 2 * (n * array * 0x632BE59BD9B4E019u + pairs * 0xA24BAED4963EE407u) + n;
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
  /// Of rows 0 … n-1, in closed form.
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
