#include "order/row_pool.h"

#include <algorithm>
#include <numeric>
#include <span>

namespace headrace {

void RowPool::clear(std::uint64_t parts) {
  starts_.clear();
  starts_.reserve(parts + 1);
  listed_.clear();
  computed_.reset();
  rows_ = taken_ = 0;
}

void RowPool::add(Part part) {
  starts_.push_back({rows_, part.block, part.first_row});
  rows_ += part.rows;
}

void RowPool::shuffle(RandomKey key) {
  if (rows_ == 0) return;
  starts_.push_back({rows_, 0, 0});
  note_equal_parts();
  if (rows_ > kListedRows) {
    computed_.emplace(rows_, key);
    return;
  }
  listed_.resize(rows_);
  std::iota(listed_.begin(), listed_.end(), std::uint16_t{0});
  keyed_shuffle(std::span(listed_), key);
}

void RowPool::take(std::uint64_t count, std::vector<SampleRef>& out) {
  if (!computed_) {
    const std::size_t before = out.size();
    out.resize(before + count);
    for (std::uint64_t i = 0; i < count; ++i) out[before + i] = at(listed_[taken_ + i]);
    taken_ += count;
    return;
  }
  std::array<std::uint64_t, 64> rows;
  while (count > 0) {
    const auto some = std::span(rows).first(std::min<std::uint64_t>(count, rows.size()));
    computed_->fill(taken_, some);
    for (const std::uint64_t row : some) out.push_back(at(row));
    taken_ += some.size();
    count -= some.size();
  }
}

/// Blocks of a file are equal but for its last, and a stream may begin and end inside one: where only the first part
/// and the last are shorter, a division says in which part a row is.
void RowPool::note_equal_parts() {
  const std::size_t parts = starts_.size() - 1;
  const auto rows_of = [&](std::size_t i) { return starts_[i + 1].row - starts_[i].row; };
  const std::uint64_t rows = rows_of(std::min<std::size_t>(1, parts - 1)), first = rows_of(0),
                      last = rows_of(parts - 1);
  // Of two parts any may be the longer one, and the rows of the first count.
  const std::uint64_t each = parts == 2 ? std::max(first, rows) : rows;
  bool equal = first <= each && last <= each;
  for (std::size_t i = 1; i + 1 < parts; ++i) equal = equal && rows_of(i) == each;
  equal_rows_.reset();
  if (!equal || each == 0) return;
  equal_rows_.emplace(each);
  first_lacks_ = each - first;
}

const RowPool::Start& RowPool::part_of(std::uint64_t row) const {
  return *(std::upper_bound(starts_.begin(), starts_.end(), row,
                            [](std::uint64_t r, const Start& start) { return r < start.row; }) -
           1);
}

std::uint64_t RowPool::max_bytes(std::uint64_t rows, std::uint64_t parts) {
  return (parts + 1) * sizeof(Start) + (rows > kListedRows ? kListedRows : rows) * sizeof(std::uint16_t);
}

}  // namespace headrace
