#include "base/memory/process_watch.h"

#include <atomic>
#include <mutex>

#include "base/memory/memory_budget.h"
#include "base/memory/memory_watch.h"

namespace headrace {

void watch_process_memory(std::uint64_t now_ns) {
  static std::atomic<std::uint64_t> next_ns{0};
  static std::mutex& mutex = *new std::mutex;
  static MemoryWatch* watch = nullptr;
  if (now_ns < next_ns.load(std::memory_order_relaxed)) return;
  const std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock) return;
  const bool first = next_ns.exchange(now_ns + MemoryWatch::kInterval_ns) == 0;
  if (first) return;  // the budget itself has just been measured
  const std::shared_ptr<MemoryBudget> process = MemoryBudget::process();
  const std::uint64_t wanted = process_memory_wanted();
  static std::uint64_t watched = 0;
  if (!watch) watch = new MemoryWatch(watched = wanted);
  if (watched != wanted) watch->set_budget(watched = wanted);
  const std::uint64_t used = process->snapshot().used_bytes;
  const auto limit = watch->check(now_ns, used);
  if (!limit || process_memory_wanted() != wanted) return;  // set anew meanwhile: the next look will see it
  process->set_limit(*limit);
  // An idle loader's threads are not to stop themselves.
  if (used > *limit) process->reclaim(used - *limit, {ReclaimRank::kCache, ReclaimRank::kCache});
}

}  // namespace headrace
