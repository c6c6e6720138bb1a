// Divisor: division by a number that is known long before, as a multiplication.
#pragma once

#include <cstdint>

namespace headrace {

/// Divides any 64-bit number by `d` > 0, exactly: with m = floor((2^64 - 1) / d), floor(x·m / 2^64) is floor(x / d) or
/// one less.
class Divisor {
 public:
  explicit constexpr Divisor(std::uint64_t d = 1) : d_(d), reciprocal_(~std::uint64_t{0} / d) {}

  struct Parts {
    std::uint64_t quotient, remainder;
  };
  [[nodiscard]] constexpr std::uint64_t value() const { return d_; }
  [[nodiscard]] constexpr Parts divide(std::uint64_t x) const {
    __extension__ using uint128 = unsigned __int128;
    const auto quotient = static_cast<std::uint64_t>((static_cast<uint128>(x) * reciprocal_) >> 64);
    const std::uint64_t remainder = x - quotient * d_;
    const bool short_by_one = remainder >= d_;
    return {quotient + short_by_one, remainder - (short_by_one ? d_ : 0)};
  }

 private:
  std::uint64_t d_, reciprocal_;
};

}  // namespace headrace
