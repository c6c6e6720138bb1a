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
  parts_a_row_ = static_cast<double>(starts_.size()) / static_cast<double>(rows_);
  starts_.push_back({rows_, 0, 0});
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

SampleRef RowPool::at(std::uint64_t row) const {
  const Start& part = part_of(row);
  return {part.block, part.first_row + static_cast<std::uint32_t>(row - part.row)};
}

/// Blocks of a file are equal but for its last: a guess by the mean is right, or next to right, nearly always.
const RowPool::Start& RowPool::part_of(std::uint64_t row) const {
  const std::size_t last = starts_.size() - 2;
  const std::size_t guess = std::min(static_cast<std::size_t>(static_cast<double>(row) * parts_a_row_), last);
  const auto holds = [&](std::size_t i) { return starts_[i].row <= row && row < starts_[i + 1].row; };
  if (holds(guess)) return starts_[guess];
  if (guess > 0 && holds(guess - 1)) return starts_[guess - 1];
  if (guess < last && holds(guess + 1)) return starts_[guess + 1];
  return *(std::upper_bound(starts_.begin(), starts_.end(), row,
                            [](std::uint64_t r, const Start& start) { return r < start.row; }) -
           1);
}

std::uint64_t RowPool::max_bytes(std::uint64_t rows, std::uint64_t parts) {
  return (parts + 1) * sizeof(Start) + (rows > kListedRows ? kListedRows : rows) * sizeof(std::uint16_t);
}

}  // namespace headrace
