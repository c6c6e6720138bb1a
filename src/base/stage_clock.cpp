#include "base/stage_clock.h"

namespace headrace {

std::string_view to_string(Stage stage) {
  switch (stage) {
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

StageClock& StageBoard::add_thread() {
  const std::lock_guard guard(mutex_);
  return clocks_.emplace_back();
}

StageTable StageBoard::totals() const {
  const std::lock_guard guard(mutex_);
  StageTable sum;
  for (const StageClock& clock : clocks_) {
    const StageTable table = clock.totals();
    for (std::size_t s = 0; s < kStageCount; ++s) {
      sum[s].ns += table[s].ns;
      sum[s].count += table[s].count;
      sum[s].bytes += table[s].bytes;
    }
  }
  return sum;
}

}  // namespace headrace
