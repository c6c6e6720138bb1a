#include "order/row_pool.h"

#include <algorithm>
#include <numeric>
#include <span>

namespace headrace {
namespace {
constexpr unsigned kFactorBits = 40;
}  // namespace

void RowPool::clear(std::uint64_t parts) {
  starts_.clear();
  starts_.reserve(parts + 1);
  places_.clear();
  places_.reserve(parts);
  listed_.clear();
  computed_.reset();
  rows_ = taken_ = 0;
}

void RowPool::add(BlockPart part) {
  starts_.push_back(rows_);
  places_.push_back({part.block, part.first_row - static_cast<std::uint32_t>(rows_)});
  rows_ += part.rows;
}

void RowPool::shuffle(RandomKey key) {
  if (rows_ == 0) return;
  starts_.push_back(rows_);
  note_equal_parts();
  if (rows_ > kListedRows) {
    computed_.emplace(rows_, key);
    return;
  }
  listed_.resize(rows_);
  std::iota(listed_.begin(), listed_.end(), std::uint16_t{0});
  keyed_shuffle(std::span(listed_), key);
}

void RowPool::take(std::uint64_t count, SampleRef* out) {
  if (!computed_) {
    take_listed(out, count);
    taken_ += count;
    // The lists of all streams are larger than a cache, and each step takes a few rows from every one.
    if (taken_ < listed_.size()) __builtin_prefetch(listed_.data() + taken_);
    return;
  }
  std::array<std::uint64_t, 64> rows;
  while (count > 0) {
    const auto some = std::span(rows).first(std::min<std::uint64_t>(count, rows.size()));
    computed_->fill(taken_, some);
    for (const std::uint64_t row : some) *out++ = places_[part_of(row)].of(row);
    taken_ += some.size();
    count -= some.size();
  }
}

void RowPool::skip(std::uint64_t count, std::vector<BlockRows>& out) {
  std::vector<std::uint32_t> counts(places_.size());
  std::array<std::uint64_t, 64> rows;
  while (count > 0) {
    const auto some = std::span(rows).first(std::min<std::uint64_t>(count, rows.size()));
    if (computed_)
      computed_->fill(taken_, some);
    else
      std::copy_n(listed_.begin() + static_cast<std::ptrdiff_t>(taken_), some.size(), some.begin());
    for (const std::uint64_t row : some) ++counts[part_of(row)];
    taken_ += some.size();
    count -= some.size();
  }
  for (std::size_t part = 0; part < counts.size(); ++part)
    if (counts[part] > 0) out.push_back({places_[part].block, counts[part]});
}

void RowPool::take_listed(SampleRef* out, std::uint64_t count) const {
  const std::uint16_t* const rows = listed_.data() + taken_;
  const RowShift* const places = places_.data();
  if (!equal_rows_) {
    for (std::uint64_t i = 0; i < count; ++i) out[i] = places[search(rows[i])].of(rows[i]);
    return;
  }
  const std::uint64_t factor = listed_factor_, lacks = first_lacks_;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t row = rows[i];
    out[i] = places[((row + lacks) * factor) >> kFactorBits].of(row);
  }
}

/// Blocks of a file are equal but for its last, and a stream may begin and end inside one: where only the first part
/// and the last are shorter, a division says in which part a row is.
void RowPool::note_equal_parts() {
  const std::size_t parts = starts_.size() - 1;
  const auto size_of = [&](std::size_t i) { return starts_[i + 1] - starts_[i]; };
  const std::uint64_t rows = size_of(std::min<std::size_t>(1, parts - 1)), first = size_of(0),
                      last = size_of(parts - 1);
  // Either of two parts may be the longer one, and the rows of the first count.
  const std::uint64_t each = parts == 2 ? std::max(first, rows) : rows;
  bool equal = first <= each && last <= each;
  for (std::size_t i = 1; i + 1 < parts; ++i) equal = equal && size_of(i) == each;
  equal_rows_.reset();
  if (!equal || each == 0) return;
  equal_rows_.emplace(each);
  first_lacks_ = each - first;
  // For x < 2^17 and d <= 2^16, floor(x / d) is x (floor(2^40 / d) + 1) / 2^40: at most x / 2^40 < 1 / d too much.
  listed_factor_ = (std::uint64_t{1} << kFactorBits) / each + 1;
}

std::size_t RowPool::search(std::uint64_t row) const {
  return static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), row) - starts_.begin()) - 1;
}

std::uint64_t RowPool::max_bytes(std::uint64_t rows, std::uint64_t parts) {
  return (parts + 1) * sizeof(std::uint64_t) + parts * sizeof(RowShift) +
         (rows > kListedRows ? kListedRows : rows) * sizeof(std::uint16_t);
}

}  // namespace headrace
