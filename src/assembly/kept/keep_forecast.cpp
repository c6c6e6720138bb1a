#include "assembly/kept/keep_forecast.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace headrace {

std::vector<KeepEpoch> forecast_keeping(const KeepCosts& costs, double kept_share, double room_share,
                                        std::size_t epochs, double share) {
  constexpr std::uint64_t kBlocks = 256, kBytes = 1 << 20;  // so many of one size show the rule
  constexpr double kTicks = 1e6;                            // of the policy's clock, in a decode
  KeepPolicy policy(share);
  const double most = std::max({costs.decode, costs.keep, costs.hit, 1e-30});
  const auto ticks = [&](double cost) { return static_cast<std::uint64_t>(cost / most * kTicks); };
  const auto blocks = [](double part) {
    return static_cast<std::uint64_t>(std::lround(std::clamp(part, 0.0, 1.0) * kBlocks));
  };
  const std::uint64_t room = blocks(room_share);
  std::uint64_t kept = std::min(blocks(kept_share), room);
  std::vector<KeepEpoch> out;
  while (out.size() < epochs) {
    const std::uint64_t hits = kept;
    double cost = static_cast<double>(hits) * costs.hit + static_cast<double>(kBlocks - hits) * costs.decode;
    for (std::uint64_t b = 0; b < kBlocks; ++b) {
      // What is kept lies anywhere among the others.
      if (b * hits / kBlocks != (b + 1) * hits / kBlocks) {
        policy.add_hit(kBytes, ticks(costs.hit));
        continue;
      }
      const bool keeps = kept < room && policy.allows({});
      policy.add_decode({}, kBytes, ticks(costs.decode), keeps ? std::max<std::uint64_t>(ticks(costs.keep), 1) : 0);
      if (keeps) ++kept, cost += costs.keep;
    }
    out.push_back({cost / kBlocks, static_cast<double>(kept) / kBlocks});
  }
  return out;
}

}  // namespace headrace
