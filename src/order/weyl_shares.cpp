#include "order/weyl_shares.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headrace {
namespace {

__extension__ using uint128 = unsigned __int128;
constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15u;  // 2^64 / ((1 + sqrt 5) / 2), odd
constexpr uint128 kWhole = uint128{1} << 64;

/// Sum of floor((a·i + b) / m) over i < n, modulo 2^128.
uint128 floor_sum(uint128 n, uint128 m, uint128 a, uint128 b) {
  uint128 sum = 0;
  for (;;) {
    sum += n * (n - 1) / 2 * (a / m) + n * (b / m);
    a %= m;
    b %= m;
    const uint128 last = a * n + b;
    if (last < m) return sum;
    n = last / m;
    b = last % m;
    std::swap(m, a);
  }
}

}  // namespace

WeylShares::WeylShares(const std::vector<double>& weights, std::uint64_t start) : start_(start) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double sum = 0;
  for (const double w : weights) {
    begins_.push_back(static_cast<std::uint64_t>(std::min(sum / total, 1 - 0x1p-53) * 0x1p64));
    sum += w;
  }
}

std::uint32_t WeylShares::source_of(std::uint64_t n) const {
  const std::uint64_t x = kGolden * n + start_;
  return static_cast<std::uint32_t>(std::upper_bound(begins_.begin() + 1, begins_.end(), x) - begins_.begin()) - 1;
}

/// i < n with (a·i + b) mod 2^64 < threshold: there floor((a·i + b) / 2^64) and floor((a·i + b - threshold) / 2^64)
/// differ by one.
std::uint64_t WeylShares::count_below(std::uint64_t threshold, std::uint64_t n) const {
  if (n == 0) return 0;
  const uint128 whole = floor_sum(n, kWhole, kGolden, start_);
  const uint128 shifted = floor_sum(n, kWhole, kGolden, kWhole + start_ - threshold);
  return static_cast<std::uint64_t>(whole + n - shifted);
}

std::uint64_t WeylShares::count_before(std::size_t source, std::uint64_t n) const {
  const std::uint64_t end = source + 1 == begins_.size() ? n : count_below(begins_[source + 1], n);
  return end - count_below(begins_[source], n);
}

}  // namespace headrace
