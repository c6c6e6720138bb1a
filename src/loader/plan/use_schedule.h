// UseSchedule: when each block is used next, for a cache that keeps blocks by that.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "order/sampler.h"

namespace headrace {

/// Threads: any. The order of two epochs is kept, 4 bytes a block each, worked out when it is first asked for.
class UseSchedule {
 public:
  UseSchedule(std::shared_ptr<const Sampler> sampler, RankShare share) : sampler_(std::move(sampler)), share_(share) {}

  /// Return ticks (Sampler::kEpochTicks an epoch) until when `block` is not used again. \param last  Its last use in
  /// `epoch` is the one at hand. 0 where the order does not say.
  std::uint64_t next_use(std::uint32_t block, std::uint64_t epoch, bool last) {
    if (!sampler_->traits().foresees_uses) return 0;
    if (!last) return epoch * Sampler::kEpochTicks;  // as good as now
    const std::lock_guard lock(mutex_);
    Uses& next = uses_[(epoch + 1) & 1];
    if (next.epoch != epoch + 1 || next.ticks.empty()) next = {epoch + 1, sampler_->first_uses(epoch + 1, share_)};
    const std::uint32_t tick = next.ticks[block];
    if (tick == Sampler::kNeverUsed) return (epoch + 2) * Sampler::kEpochTicks + Sampler::kEpochTicks / 2;
    return (epoch + 1) * Sampler::kEpochTicks + tick;
  }

 private:
  struct Uses {
    std::uint64_t epoch = 0;
    std::vector<std::uint32_t> ticks;
  };
  const std::shared_ptr<const Sampler> sampler_;
  const RankShare share_;
  std::mutex mutex_;
  Uses uses_[2];  // by parity
};

}  // namespace headrace
