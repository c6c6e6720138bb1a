// KeyedPermutation: a random order of [0, n) that is computed, not stored.
//
// A number x < n is split into (l, r) = (x / b, x % b) with a = ceil(sqrt(n)) rows and b = ceil(n / a) columns. Six
// Feistel rounds add a keyed function of one half to the other, modulo a or b, which can be undone: a bijection of the
// a·b pairs for any n. Of those fewer than a lie at n or beyond; a result among them is permuted again until it is
// below n (cycle walking), so [0, n) is permuted onto itself. Against power-of-two domains that walk half of the time:
// 13 against 53 ns an index just above 2^k.
//
// A round's function has to be more than a product: of one product of half and key, folded, every hundredth key or so
// left neighbours correlated (order/exact_statistics_test.cpp finds it; two products do not show it, four rounds do).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/random/divisor.h"
#include "base/random/philox.h"

namespace headrace {

/// Threads: any, it is a value. Cost: O(1) memory.
class KeyedPermutation {
 public:
  /// Permute [0, n), n <= 2^63.
  KeyedPermutation(std::uint64_t n, RandomKey key);

  [[nodiscard]] std::uint64_t size() const { return n_; }
  /// Return the item at `position` < size().
  [[nodiscard]] std::uint64_t operator()(std::uint64_t position) const {
    do position = encrypt(position);
    while (position >= n_);
    return position;
  }
  /// Write the items at positions first, first + 1, …: four at once, which overlap in the processor (12 against 28 ns
  /// each).
  void fill(std::uint64_t first, std::span<std::uint64_t> items) const {
    std::size_t i = 0;
    for (; i + kLanes <= items.size(); i += kLanes) encrypt_lanes(first + i, items.subspan(i).first<kLanes>());
    for (; i < items.size(); ++i) items[i] = encrypt(first + i);
    for (std::uint64_t& item : items)
      if (item >= n_) item = (*this)(item);
  }
  /// Return the position of `item`: operator() undone.
  [[nodiscard]] std::uint64_t position_of(std::uint64_t item) const {
    do item = decrypt(item);
    while (item >= n_);
    return item;
  }

  /// The grid, and the values of a round: of the half, a column in even rounds and a row in odd ones.
  static constexpr int kRounds = 6;
  [[nodiscard]] std::uint64_t rows() const { return a_; }
  [[nodiscard]] std::uint64_t columns() const { return b_; }
  [[nodiscard]] Divisor::Parts divide(std::uint64_t position) const { return columns_.divide(position); }
  [[nodiscard]] std::uint64_t round_value(int round, std::uint64_t half) const {
    return mix(round, half, round % 2 == 0 ? a_ : b_);
  }

 private:
  static constexpr std::size_t kLanes = 4;
  __extension__ using uint128 = unsigned __int128;

  /// Return a word that is keyed and spread over [0, modulus): three multiplications.
  [[nodiscard]] std::uint64_t mix(int round, std::uint64_t half, std::uint64_t modulus) const {
    const auto& k = keys_[static_cast<std::size_t>(round)];
    std::uint64_t x = (half ^ k.low) * (k.high | 1);
    x = (x ^ x >> 32) * 0x9E3779B97F4A7C15u;
    return static_cast<std::uint64_t>((static_cast<uint128>(x) * modulus) >> 64);
  }
  [[nodiscard]] std::uint64_t encrypt(std::uint64_t x) const {
    auto [l, r] = columns_.divide(x);
    for (int round = 0; round < kRounds; round += 2) {
      l += mix(round, r, a_);
      l -= l >= a_ ? a_ : 0;
      r += mix(round + 1, l, b_);
      r -= r >= b_ ? b_ : 0;
    }
    return l * b_ + r;
  }
  void encrypt_lanes(std::uint64_t first, std::span<std::uint64_t, kLanes> items) const {
    std::array<std::uint64_t, kLanes> l{}, r{};
    for (std::size_t i = 0; i < kLanes; ++i) {
      const Divisor::Parts parts = columns_.divide(first + i);
      l[i] = parts.quotient, r[i] = parts.remainder;
    }
    for (int round = 0; round < kRounds; round += 2) {
      for (std::size_t i = 0; i < kLanes; ++i) {
        l[i] += mix(round, r[i], a_);
        l[i] -= l[i] >= a_ ? a_ : 0;
      }
      for (std::size_t i = 0; i < kLanes; ++i) {
        r[i] += mix(round + 1, l[i], b_);
        r[i] -= r[i] >= b_ ? b_ : 0;
      }
    }
    for (std::size_t i = 0; i < kLanes; ++i) items[i] = l[i] * b_ + r[i];
  }
  [[nodiscard]] std::uint64_t decrypt(std::uint64_t x) const {
    auto [l, r] = columns_.divide(x);
    for (int round = kRounds - 2; round >= 0; round -= 2) {
      r += b_ - mix(round + 1, l, b_);
      r -= r >= b_ ? b_ : 0;
      l += a_ - mix(round, r, a_);
      l -= l >= a_ ? a_ : 0;
    }
    return l * b_ + r;
  }

  std::uint64_t n_, a_, b_;
  Divisor columns_;
  std::array<RandomKey, kRounds> keys_{};
};

}  // namespace headrace
