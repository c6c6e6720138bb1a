#include "base/random/keyed_permutation.h"

#include <algorithm>
#include <cmath>

namespace headrace {
namespace {
constexpr std::uint64_t kDomain = 0x7065726D75746500u;  // "permute": apart from the words of callers
}  // namespace

KeyedPermutation::KeyedPermutation(std::uint64_t n, RandomKey key) : n_(n) {
  a_ = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(n)));
  while (a_ * a_ < n) ++a_;  // the root of a double may be off by one either way
  while (a_ > 1 && (a_ - 1) * (a_ - 1) >= n) --a_;
  a_ = std::max<std::uint64_t>(a_, 1);
  b_ = std::max<std::uint64_t>((n + a_ - 1) / a_, 1);
  columns_ = Divisor(b_);
  for (std::size_t round = 0; round < keys_.size(); ++round) keys_[round] = key.with(kDomain + round);
}

}  // namespace headrace
