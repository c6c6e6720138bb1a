// Which rows of a unit the window will ask for: they may be read ahead.
#include "assembly/window/request_window.h"

namespace headrace {

std::vector<RowRange> RequestWindow::asked_rows(std::uint32_t unit) const {
  std::vector<RowRange> rows;
  const std::lock_guard lock(mutex_);
  const UnitState* first = nullptr;
  for (const auto& index : state_of_unit_) {
    if (unit >= index.size() || index[unit] == 0) continue;
    const UnitState& state = states_[index[unit] - 1];
    if (!state.requests.empty() && (first == nullptr || state.first_need < first->first_need)) first = &state;
  }
  if (first == nullptr) return rows;
  std::vector<Request> requests(first->requests.size());
  first->requests.write(requests, item_bits_);
  rows.reserve(requests.size());
  for (std::size_t run = 0; run < first->runs.size(); ++run) {
    const std::size_t end = run + 1 < first->runs.size() ? first->runs[run + 1].begin : requests.size();
    const StepContent& content = first->runs[run].slot->content;
    for (std::size_t i = first->runs[run].begin; i < end; ++i)
      if (options_.map == nullptr)
        rows.push_back({requests[i].item, 1});
      else
        rows.push_back({content.parts[requests[i].item].row, content.parts[requests[i].item].count});
  }
  return rows;
}

}  // namespace headrace
