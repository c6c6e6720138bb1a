// KeyedPermutation: a bijection of [0, n) in O(1) memory, any position computed directly.
//
// A Feistel network on Z_a x Z_b with a = ceil(sqrt n), b = ceil(n / a) and modular additions, six rounds; indices that
// fall into the corner a·b - n are walked on. The domain is at most n + 2·sqrt(n) + 1, so walking is rare for every n
// (power-of-two domains pay up to four rounds of walking just above 2^k).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "base/keyed_random.h"

namespace headrace {

class KeyedPermutation {
 public:
  /// \param n  Size of the domain, at least 1, below 2^62.
  KeyedPermutation(std::uint64_t n, std::uint64_t key) : n_(n) {
    a_ = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(n)));
    while (a_ * a_ < n) ++a_;
    while (a_ > 1 && (a_ - 1) * (a_ - 1) >= n) --a_;
    b_ = (n + a_ - 1) / a_;
    for (std::size_t i = 0; i < kRounds; ++i) keys_[i] = mix_key({key, i});
  }

  [[nodiscard]] std::uint64_t size() const { return n_; }
  /// Image of `index` < n.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t index) const {
    do {
      std::uint64_t left = index / b_, right = index % b_;
      for (std::size_t i = 0; i < kRounds; i += 2) {
        left = add(left, scale(splitmix_finalise(right + keys_[i]), a_), a_);
        right = add(right, scale(splitmix_finalise(left + keys_[i + 1]), b_), b_);
      }
      index = left * b_ + right;
    } while (index >= n_);
    return index;
  }

 private:
  static constexpr std::size_t kRounds = 6;
  static std::uint64_t scale(std::uint64_t random, std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(random) * bound) >> 64);
  }
  static std::uint64_t add(std::uint64_t x, std::uint64_t y, std::uint64_t modulus) {
    const std::uint64_t sum = x + y;
    return sum >= modulus ? sum - modulus : sum;
  }
  std::uint64_t n_, a_ = 1, b_ = 1;
  std::array<std::uint64_t, kRounds> keys_{};
};

}  // namespace headrace
