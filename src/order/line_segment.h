// LineSegment: the blocks of one stream of a block shuffle in one epoch, in reading order.
#pragma once

#include <cstdint>

#include "base/random/keyed_permutation.h"
#include "catalog/block.h"
#include "order/row_pool.h"

namespace headrace {

/// Rows [begin, end) of the line: all blocks in file order, rotated. Blocks between its ends come in random order,
/// those that the ends cut stay at the ends. Threads: any, it is a value; the table outlives it.
class LineSegment {
 public:
  using BlockPart = RowPool::BlockPart;

  LineSegment(const BlockTable& blocks, std::uint64_t rotation, std::uint64_t begin, std::uint64_t end, bool backwards,
              RandomKey key)
      : blocks_(&blocks), backwards_(backwards), inner_(1, key) {
    if (begin == end) return;
    const std::uint64_t rows = blocks.num_rows(), shift = blocks.first_row(rotation);
    const auto head = blocks.find((begin + shift) % rows), tail = blocks.find((end - 1 + shift) % rows);
    const std::uint64_t n = blocks.num_blocks();
    first_block_ = head.block;
    num_parts_ = (tail.block + n - head.block) % n + 1;
    if (num_parts_ == 1 && tail.row_in_block < head.row_in_block)
      num_parts_ += n;  // the whole line, cut inside a block
    head_row_ = head.row_in_block;
    tail_end_ = tail.row_in_block + 1;
    low_ = head_row_ != 0 ? 1 : 0;
    high_ = num_parts_ - (tail_end_ != blocks.block_rows(tail.block) ? 1 : 0);
    if (high_ > low_) inner_ = KeyedPermutation(high_ - low_, key);
  }

  [[nodiscard]] std::uint64_t num_parts() const { return num_parts_; }
  [[nodiscard]] BlockPart part(std::uint64_t i) const {
    std::uint64_t j = backwards_ ? num_parts_ - 1 - i : i;
    if (j >= low_ && j < high_) j = low_ + inner_(j - low_);  // blocks on a cut keep their place
    const std::uint64_t n = blocks_->num_blocks();
    const std::uint64_t block = first_block_ + j - (first_block_ + j >= n ? n : 0);
    const std::uint64_t first = j == 0 ? head_row_ : 0;
    const std::uint64_t last = j + 1 == num_parts_ ? tail_end_ : blocks_->block_rows(block);
    return {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(first),
            static_cast<std::uint32_t>(last - first)};
  }
  /// Visit parts that may be on a cut, so that another stream has the block's other rows: the first and the last.
  template <class Visit>
  void visit_cuts(std::uint64_t begin, std::uint64_t end, Visit&& visit) const {
    const auto look = [&](std::uint64_t i) {
      const BlockPart p = part(i);
      if (p.rows != blocks_->block_rows(p.block)) visit(p);
    };
    if (begin == 0 && end > 0) look(0);
    if (end == num_parts_ && num_parts_ > 1 && begin < end) look(num_parts_ - 1);
  }
  /// Count the rows of parts [begin, end). Where all blocks are equal, that costs nothing.
  [[nodiscard]] std::uint64_t rows(std::uint64_t begin, std::uint64_t end) const {
    std::uint64_t rows = 0;
    if (!blocks_->all_equal()) {
      for (std::uint64_t i = begin; i < end; ++i) rows += part(i).rows;
      return rows;
    }
    rows = (end - begin) * blocks_->max_block_rows();
    visit_cuts(begin, end, [&](const BlockPart& p) { rows -= blocks_->max_block_rows() - p.rows; });
    return rows;
  }

 private:
  const BlockTable* blocks_;
  bool backwards_;
  KeyedPermutation inner_;
  std::uint64_t first_block_ = 0, num_parts_ = 0, head_row_ = 0, tail_end_ = 0, low_ = 0, high_ = 0;
};

}  // namespace headrace
