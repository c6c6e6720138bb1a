#include "order/grouped.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/random/keyed_permutation.h"
#include "base/random/philox.h"
#include "order/direct_cursor.h"
#include "order/key_use.h"

namespace headrace {
namespace {

constexpr std::size_t kKeptEpochs = 3;  // the one that is delivered, the next, and one that is asked for

struct GroupedRow {
  std::shared_ptr<const GroupEpoch> epoch;
  std::uint64_t operator()(std::uint64_t position) const { return epoch->row_at(position); }
};

std::uint64_t index_of(const std::vector<std::uint64_t>& begins, std::uint64_t at) {
  return static_cast<std::uint64_t>(std::upper_bound(begins.begin(), begins.end(), at) - begins.begin()) - 1;
}

/// Is every block of rows inside one group? Then its rows come together in any order of groups.
bool holds_blocks(const GroupTable& groups, const BlockTable& blocks) {
  std::uint64_t b = 0;
  for (std::uint64_t g = 0; g + 1 < groups.size(); ++g) {
    const std::uint64_t border = groups.starts[g + 1];
    if (border >= blocks.num_rows()) break;
    b = blocks.find(border).block;
    if (blocks.first_row(b) != border) return false;
  }
  return true;
}

}  // namespace

GroupTable groups_by_file(const BlockTable& blocks) {
  GroupTable table{.by = "file", .starts = {}, .numbers = {}, .num_numbers = blocks.num_files()};
  for (std::uint64_t b = 0; b < blocks.num_blocks(); ++b) {
    const auto file = static_cast<std::int64_t>(blocks.place(b).file);
    if (!table.numbers.empty() && table.numbers.back() == file) continue;
    table.starts.push_back(blocks.first_row(b));
    table.numbers.push_back(file);
  }
  table.starts.push_back(blocks.num_rows());
  return table;
}

GroupEpoch::GroupEpoch(std::shared_ptr<const BlockTable> blocks, std::shared_ptr<const GroupTable> groups,
                       std::vector<std::uint32_t> order, GroupLimits most)
    : blocks_(std::move(blocks)), groups_(std::move(groups)), order_(std::move(order)) {
  const std::uint64_t count = groups_->size();
  if (!order_.empty()) {
    places_.resize(count);
    for (std::uint64_t p = 0; p < count; ++p) places_[order_[p]] = static_cast<std::uint32_t>(p);
  }
  begins_.reserve(count + 1);
  begins_.push_back(0);
  std::uint64_t batch_begin = 0, in_batch = 0;
  const auto cut_at = [&](std::uint64_t position) {
    batch_ends_.push_back(batch_begin = position);
    in_batch = 0;
  };
  for (std::uint64_t p = 0; p < count; ++p) {
    const std::uint64_t g = group_at(p), begin = begins_.back();
    const std::uint64_t end = begin + groups_->starts[g + 1] - groups_->starts[g];
    begins_.push_back(end);
    const bool is_full = end - batch_begin > most.items || (most.groups != 0 && in_batch == most.groups);
    if (is_full && begin > batch_begin) cut_at(begin);
    while (end - batch_begin > most.items) cut_at(batch_begin + most.items);
    ++in_batch;
  }
  if (begins_.back() > batch_begin) batch_ends_.push_back(begins_.back());
}

std::uint64_t GroupEpoch::place_at(std::uint64_t position) const {
  return index_of(begins_, position);
}

std::uint64_t GroupEpoch::row_at(std::uint64_t position) const {
  const std::uint64_t place = place_at(position);
  return groups_->starts[group_at(place)] + position - begins_[place];
}

void GroupEpoch::append(PositionRange range, std::vector<SampleRef>& out) const {
  if (range.begin >= range.end) return;
  std::uint64_t at = range.begin;
  for (std::uint64_t place = place_at(at); at < range.end; ++place) {
    std::uint64_t row = groups_->starts[group_at(place)] + at - begins_[place];
    for (std::uint64_t left = std::min(range.end, begins_[place + 1]) - at; left > 0;) {
      const BlockTable::RowPlace found = blocks_->find(row);
      const std::uint64_t run = std::min<std::uint64_t>(found.left, left);
      for (std::uint32_t i = 0; i < run; ++i)
        out.push_back({static_cast<std::uint32_t>(found.block), found.row_in_block + i});
      row += run;
      at += run;
      left -= run;
    }
  }
}

void GroupEpoch::find_block(std::uint32_t block, std::vector<PositionRange>& out) const {
  const std::uint64_t first = blocks_->first_row(block), end = first + blocks_->block_rows(block);
  for (std::uint64_t g = index_of(groups_->starts, first); g < groups_->size() && groups_->starts[g] < end; ++g) {
    const std::uint64_t start = groups_->starts[g], begin = begins_[places_.empty() ? g : places_[g]];
    out.push_back({begin + std::max(first, start) - start, begin + std::min(end, groups_->starts[g + 1]) - start});
  }
}

void GroupEpoch::number(PositionRange range, std::int64_t* numbers, std::vector<std::int64_t>& offsets) const {
  std::uint64_t at = range.begin;
  for (std::uint64_t place = at < range.end ? place_at(at) : 0; at < range.end; ++place) {
    const std::uint64_t end = std::min(range.end, begins_[place + 1]);
    offsets.push_back(static_cast<std::int64_t>(at - range.begin));
    numbers = std::fill_n(numbers, end - at, groups_->numbers[group_at(place)]);
    at = end;
  }
  offsets.push_back(static_cast<std::int64_t>(at - range.begin));
}

Grouped::Grouped(std::shared_ptr<const BlockTable> blocks, std::shared_ptr<const GroupTable> groups, GroupLimits most,
                 bool shuffle, std::uint64_t seed)
    : blocks_(std::move(blocks)),
      groups_(std::move(groups)),
      most_(most),
      seed_(seed),
      shuffle_(shuffle),
      is_local_(!shuffle || holds_blocks(*groups_, *blocks_)) {}

std::shared_ptr<const GroupEpoch> Grouped::group_epoch(std::uint64_t number) const {
  if (!shuffle_) number = 0;  // all are the same
  const std::lock_guard lock(mutex_);
  const auto known = std::find_if(epochs_.begin(), epochs_.end(), [&](const auto& e) { return e.first == number; });
  if (known != epochs_.end()) {
    std::rotate(known, known + 1, epochs_.end());
    return epochs_.back().second;
  }
  std::vector<std::uint32_t> order;
  if (shuffle_) {
    const KeyedPermutation permutation(groups_->size(), RandomKey::of({seed_, number, key_use::kGroupOrder}));
    order.resize(groups_->size());
    for (std::uint64_t p = 0; p < order.size(); ++p) order[p] = static_cast<std::uint32_t>(permutation(p));
  }
  if (epochs_.size() == kKeptEpochs) epochs_.erase(epochs_.begin());
  epochs_.emplace_back(number, std::make_shared<const GroupEpoch>(blocks_, groups_, std::move(order), most_));
  return epochs_.back().second;
}

std::unique_ptr<Cursor> Grouped::cursor(const Walk& walk) const {
  return std::make_unique<DirectCursor<GroupedRow>>(*blocks_, num_samples(), walk, GroupedRow{group_epoch(walk.epoch)});
}

std::string Grouped::describe() const {
  return fmt::format("{} groups by {}{}, whole ones of up to {} samples together{}", groups_->size(), groups_->by,
                     shuffle_ ? ", shuffled" : "", most_.items,
                     most_.groups ? fmt::format(" and {} groups", most_.groups) : "");
}

std::string Grouped::identity() const {
  return fmt::format("groups by {}{}", groups_->by, shuffle_ ? " shuffled" : "");
}

std::uint64_t Grouped::most_batch_rows() const {
  std::uint64_t rows = std::min(most_.items, num_samples());
  if (most_.groups == 0 || most_.groups >= groups_->size()) return rows;
  std::vector<std::uint64_t> sizes(groups_->size());
  for (std::uint64_t g = 0; g < sizes.size(); ++g) sizes[g] = groups_->starts[g + 1] - groups_->starts[g];
  const auto largest_end = sizes.begin() + static_cast<std::ptrdiff_t>(most_.groups);
  std::ranges::nth_element(sizes, largest_end, std::greater<>());
  return std::min(rows, std::accumulate(sizes.begin(), largest_end, std::uint64_t{0}));
}

/// Return how many batches so many rows may be cut into, about: any two that follow each other hold more than the
/// limit of rows together, or the first has as many groups as it may.
std::uint64_t Grouped::most_batches(std::uint64_t rows) const {
  const std::uint64_t full = most_.groups ? std::min(rows, groups_->size()) / most_.groups : 0;
  return 2 * (rows / most_.items) + full;
}

std::uint64_t Grouped::span_batches() const {
  const std::uint64_t rows = is_local_ ? blocks_->max_block_rows() : num_samples();
  return std::min(most_batches(rows) + 3, num_samples());
}

std::uint64_t Grouped::span_steps(std::uint64_t global_batch, RankShare) const {
  return (is_local_ ? blocks_->max_block_rows() : num_samples()) / global_batch + 2;
}

std::uint64_t Grouped::memory_bytes(RankShare) const {
  const std::uint64_t count = groups_->size(), batches = std::min(most_batches(num_samples()) + 1, num_samples());
  return count * 2 * sizeof(std::uint64_t) +
         (shuffle_ ? kKeptEpochs : 1) * (count * 2 * sizeof(std::uint64_t) + batches * sizeof(std::uint64_t));
}

}  // namespace headrace
