#include "catalog/span_map.h"

#include <algorithm>

#include "catalog/row_digest.h"

namespace headrace {

Spans Spans::between(std::vector<std::uint64_t> starts) {
  Spans s;
  s.count_ = starts.empty() ? 0 : starts.size() - 1;
  s.starts_ = std::move(starts);
  return s;
}

Spans Spans::windows(std::uint64_t count, std::uint64_t stride, std::uint64_t length) {
  Spans s;
  s.count_ = count;
  s.stride_ = std::max<std::uint64_t>(stride, 1);
  s.length_ = length;
  return s;
}

std::uint64_t Spans::first_ending_behind(std::uint64_t row) const {
  if (starts_.empty()) return row < length_ ? 0 : std::min(count_, (row - length_) / stride_ + 1);
  const auto at = std::upper_bound(starts_.begin() + 1, starts_.end(), row);
  return static_cast<std::uint64_t>(at - starts_.begin()) - 1;
}

std::uint64_t Spans::first_beginning_at(std::uint64_t row) const {
  if (starts_.empty()) return std::min(count_, (row + stride_ - 1) / stride_);
  const auto at = std::lower_bound(starts_.begin(), starts_.end() - 1, row);
  return static_cast<std::uint64_t>(at - starts_.begin());
}

SpanMap::SpanMap(Options options)
    : options_(std::move(options)),
      homes_(std::make_shared<const BlockTable>(
          std::vector<BlockTable::FileBlocks>{{options_.spans.size(), options_.home_samples}})) {
  const std::uint64_t length = options_.spans.common_length();
  groups_.push_back({static_cast<std::uint32_t>(options_.rows->num_blocks()),
                     length > 0 ? UnitGroup::Rows::kFixed : UnitGroup::Rows::kRagged, length});
  if (options_.side)
    groups_.push_back({static_cast<std::uint32_t>(options_.side->num_blocks()), UnitGroup::Rows::kFixed, 1});
  for (const BlockTable* table : {options_.rows.get(), options_.side.get()})
    for (std::uint64_t b = 0; table && b < table->num_blocks(); ++b) first_rows_.push_back(table->stored_rows(b).first);
}

void SpanMap::expand(std::span<const SampleRef> samples, std::vector<Part>& parts,
                     std::vector<std::uint32_t>& ends) const {
  for (const SampleRef sample : samples) {
    const std::uint64_t i = number_of(sample), begin = options_.spans.begin(i), end = options_.spans.end(i);
    for (std::uint64_t row = begin; row < end;) {
      const BlockTable::RowPlace at = options_.rows->find(row);
      const std::uint64_t count = std::min<std::uint64_t>(at.left, end - row);
      parts.push_back(
          {static_cast<std::uint32_t>(at.block), at.row_in_block, static_cast<std::uint32_t>(count), row - begin});
      row += count;
    }
    if (options_.side) {
      const BlockTable::RowPlace at = options_.side->find(i);
      parts.push_back({groups_[0].num_units + static_cast<std::uint32_t>(at.block), at.row_in_block, 1, 0});
    }
    ends.push_back(static_cast<std::uint32_t>(parts.size()));
  }
}

void SpanMap::lengths(std::span<const SampleRef> samples, std::size_t, std::vector<std::uint64_t>& out) const {
  for (const SampleRef sample : samples) {
    const std::uint64_t i = number_of(sample);
    out.push_back(options_.spans.end(i) - options_.spans.begin(i));
  }
}

void SpanMap::units_of(std::uint32_t home, std::vector<std::uint32_t>& out) const {
  const std::uint64_t first = std::uint64_t{home} * options_.home_samples;
  const std::uint64_t last = std::min(first + options_.home_samples, options_.spans.size()) - 1;
  const std::uint64_t begin = options_.spans.begin(first), end = options_.spans.end(last);
  if (begin < end) {
    const auto last_unit = static_cast<std::uint32_t>(options_.rows->find(end - 1).block);
    for (auto unit = static_cast<std::uint32_t>(options_.rows->find(begin).block); unit <= last_unit; ++unit)
      out.push_back(unit);
  }
  if (!options_.side) return;
  const auto last_unit = static_cast<std::uint32_t>(options_.side->find(last).block);
  for (auto unit = static_cast<std::uint32_t>(options_.side->find(first).block); unit <= last_unit; ++unit)
    out.push_back(groups_[0].num_units + unit);
}

void SpanMap::homes_between(std::uint64_t first_sample, std::uint64_t end_sample,
                            std::vector<std::uint32_t>& out) const {
  if (first_sample >= end_sample) return;
  const std::uint64_t last = (end_sample - 1) / options_.home_samples;
  for (std::uint64_t home = first_sample / options_.home_samples; home <= last; ++home)
    out.push_back(static_cast<std::uint32_t>(home));
}

/// The same homes as those whose units_of() names the unit: also those whose samples pass it by without a row in it.
void SpanMap::homes_of(std::uint32_t unit, std::vector<std::uint32_t>& out) const {
  if (unit >= groups_[0].num_units) {
    const RowRange rows = options_.side->stored_rows(unit - groups_[0].num_units);
    return homes_between(rows.first, rows.end(), out);
  }
  const RowRange rows = options_.rows->stored_rows(unit);
  const std::uint64_t first = options_.spans.first_ending_behind(rows.first);
  const std::uint64_t end = options_.spans.first_beginning_at(rows.end());
  std::vector<std::uint32_t> homes, units;
  homes_between(first, end, homes);
  for (const std::uint32_t home : homes) {
    units.clear();
    units_of(home, units);  // a home at either end may have no row here after all, if its nearest samples are empty
    if (std::find(units.begin(), units.end(), unit) != units.end()) out.push_back(home);
  }
}

std::uint64_t SpanMap::part_hash(SampleRef, const Part& part, std::uint64_t place) const {
  const bool side = part.unit >= groups_[0].num_units;
  return run_hash(first_rows_[part.unit] + part.row, place + part.place, part.count) *
         (side ? options_.side_weight : options_.row_weight);
}

}  // namespace headrace
