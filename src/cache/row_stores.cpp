#include "cache/row_stores.h"

#include <algorithm>

namespace headrace {

std::uint64_t RowStores::num_units() const {
  std::uint64_t units = 0;
  for (const auto& store : groups_) units += store->layout().num_blocks();
  return units;
}

std::uint64_t RowStores::ready_units() const {
  std::uint64_t units = 0;
  for (const auto& store : groups_) units += store->ready_blocks();
  return units;
}

bool RowStores::ready(std::uint64_t unit) const {
  for (const auto& store : groups_) {
    const std::uint64_t blocks = store->layout().num_blocks();
    if (unit < blocks) return store->ready(unit);
    unit -= blocks;
  }
  return false;
}

bool RowStores::complete() const {
  return std::ranges::all_of(groups_, [](const auto& store) { return store->complete(); });
}

bool RowStores::random_access() const {
  return std::ranges::all_of(groups_, [](const auto& store) { return store->random_access(); });
}

bool RowStores::all_checked() const {
  return std::ranges::all_of(groups_, [](const auto& store) { return store->all_checked(); });
}

Status RowStores::finish() {
  Status first;
  for (const auto& store : groups_)
    if (Status done = store->finish(); !done.ok() && first.ok()) first = std::move(done);
  return first;
}

std::uint64_t RowStores::charged_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& store : groups_) bytes += store->charged_bytes();
  return bytes;
}

bool RowStores::take_charge() {
  bool changed = false;
  for (const auto& store : groups_) changed |= store->take_charge();
  return changed;
}

void RowStores::drop_charge() {
  for (const auto& store : groups_) store->drop_charge();
}

}  // namespace headrace
