// Sizes as multiples of what memory is handed out in.
#pragma once

#include <cstdint>

namespace headrace {

inline constexpr std::uint64_t kCacheLineBytes = 64;

/// Return the least multiple of `step` that is not less than `n`.
constexpr std::uint64_t align_up(std::uint64_t n, std::uint64_t step = kCacheLineBytes) {
  return (n + step - 1) / step * step;
}

}  // namespace headrace
