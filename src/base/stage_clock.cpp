#include "base/stage_clock.h"

#include <utility>

namespace headrace {

std::string_view to_string(Stage stage) {
  switch (stage) {
    case Stage::kOpen:
      return "open";
    case Stage::kPlan:
      return "plan";
    case Stage::kRead:
      return "read";
    case Stage::kDecode:
      return "decode";
    case Stage::kScatter:
      return "scatter";
    case Stage::kCache:
      return "cache";
    case Stage::kWaitWork:
      return "wait for work";
    case Stage::kWaitBatch:
      return "wait for batch";
    case Stage::kHandOver:
      return "hand over";
    case Stage::kConsume:
      return "consume";
  }
  return "other";
}

StageTable StageClock::totals() const {
  StageTable table;
  for (std::size_t s = 0; s < kStageCount; ++s)
    table[s] = {cells_[s].ns.load(std::memory_order_relaxed), cells_[s].count.load(std::memory_order_relaxed),
                cells_[s].bytes.load(std::memory_order_relaxed)};
  return table;
}

StageClock& StageBoard::add_thread(std::string name) {
  const std::lock_guard guard(mutex_);
  Entry& entry = entries_.emplace_back();
  entry.name = std::move(name);
  return entry.clock;
}

std::vector<StageBoard::ThreadTotals> StageBoard::per_thread() const {
  const std::lock_guard guard(mutex_);
  std::vector<ThreadTotals> all;
  for (const Entry& entry : entries_) all.push_back({entry.name, entry.clock.totals()});
  return all;
}

StageTable StageBoard::totals() const {
  StageTable sum;
  for (const ThreadTotals& thread : per_thread())
    for (std::size_t s = 0; s < kStageCount; ++s) {
      sum[s].ns += thread.stages[s].ns;
      sum[s].count += thread.stages[s].count;
      sum[s].bytes += thread.stages[s].bytes;
    }
  return sum;
}

}  // namespace headrace
