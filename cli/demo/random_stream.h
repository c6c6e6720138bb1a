// SplitMix64 as a stream that starts from (seed, index): cheap to start, so that every jet has its own.
#pragma once

#include <cstdint>

namespace headrace::demo {

class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::uint64_t index) : state_(mix(mix(seed + kStep) ^ (index * kStep))) {}

  std::uint64_t next() { return mix(state_ += kStep); }
  /// Return a number that is uniform in [0, 1) with 53 random bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15ULL;
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

}  // namespace headrace::demo
