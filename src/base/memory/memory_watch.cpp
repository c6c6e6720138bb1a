#include "base/memory/memory_watch.h"

#include <algorithm>

#include "base/machine/memory_limits.h"

namespace headrace {
namespace {

constexpr std::uint64_t kFindGroupsEvery_ns = 60 * MemoryWatch::kInterval_ns;  // a process is seldom moved to another

/// Nine tenths: at the very limit the kernel kills.
std::uint64_t safe_part(std::uint64_t bytes) {
  return bytes / 10 * 9;
}

}  // namespace

MemoryWatch::MemoryWatch(std::uint64_t budget_bytes, MemoryProbe probe)
    : probe_(std::move(probe)), budget_bytes_(budget_bytes), current_bytes_(budget_bytes) {}

std::uint64_t MemoryWatch::next_budget(std::uint64_t budget_bytes, std::uint64_t headroom_bytes,
                                       std::uint64_t current) {
  if (headroom_bytes >= budget_bytes && current >= budget_bytes) return budget_bytes;
  const std::uint64_t target = std::min(safe_part(headroom_bytes), budget_bytes);
  // Not for every page that a process takes: down by steps of 1/64, up by steps of 1/16.
  if (target == budget_bytes || target + budget_bytes / 64 < current || target > current + budget_bytes / 16)
    return target;
  return current;
}

void MemoryWatch::set_budget(std::uint64_t budget_bytes) {
  budget_bytes_ = current_bytes_ = budget_bytes;
  looked_ns_.reset();
}

std::optional<std::uint64_t> MemoryWatch::check(std::uint64_t now_ns, std::uint64_t held_bytes) {
  if (looked_ns_ && now_ns - *looked_ns_ < kInterval_ns) return std::nullopt;
  looked_ns_ = now_ns;
  if (!found_groups_ns_ || now_ns - *found_groups_ns_ >= kFindGroupsEvery_ns) {
    groups_ = cgroup_directories("memory", probe_.root);
    found_groups_ns_ = now_ns;
  }
  const std::uint64_t own = std::min(held_bytes, resident_bytes(probe_.root));
  const std::uint64_t headroom = list_memory_limits(probe_, groups_).rules().free_bytes + own;
  const std::uint64_t next = next_budget(budget_bytes_, headroom, current_bytes_);
  if (next == current_bytes_) return std::nullopt;
  return current_bytes_ = next;
}

}  // namespace headrace
