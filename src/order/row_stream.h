// RowStream: one stream of a block shuffle in one epoch: pool after pool, row after row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/random/philox.h"
#include "catalog/sample_ref.h"
#include "order/line_segment.h"
#include "order/row_pool.h"

namespace headrace {

/// What is not asked for costs nothing: whole pools that are skipped are not made. Not thread-safe.
class RowStream {
 public:
  RowStream(LineSegment segment, std::uint64_t first_pool, std::uint64_t pool_blocks, RandomKey key)
      : segment_(segment), pool_end_(first_pool), pool_blocks_(pool_blocks), key_(key) {}

  /// Take rows [first, first + count) of the stream to `out`; those skipped before them, as far as their blocks may
  /// still be asked for, to `counted_elsewhere`. `first` never falls. \return The end of what was written.
  SampleRef* take(std::uint64_t first, std::uint64_t count, SampleRef* out, std::vector<BlockRows>& counted_elsewhere) {
    if (first != position_) skip_to(first, counted_elsewhere);
    move(count, out);
    return out + count;
  }

  void skip_to(std::uint64_t position, std::vector<BlockRows>& counted_elsewhere) {
    std::uint64_t count = position - position_;
    if (const std::uint64_t here = std::min(count, pool_.left()); here > 0) {
      skip(here, counted_elsewhere);
      count -= here;
    }
    while (count > 0) {  // whole pools are not made
      const std::uint64_t end = std::min(pool_end_, segment_.num_parts()), rows = segment_.rows(next_part_, end);
      if (rows > count || rows == 0) return skip(count, counted_elsewhere);
      segment_.visit_cuts(next_part_, end, [&](const LineSegment::BlockPart& p) {
        counted_elsewhere.push_back({p.block, p.rows});
      });
      count -= rows;
      position_ += rows;
      next_part_ = end;
      pool_end_ = end + pool_blocks_;
      ++pool_number_;
    }
  }

 private:
  void skip(std::uint64_t count, std::vector<BlockRows>& counted_elsewhere) {
    position_ += count;
    while (count > 0) {
      if (pool_.left() == 0) fill();
      const std::uint64_t n = std::min(count, pool_.left());
      pool_.skip(n, counted_elsewhere);
      count -= n;
    }
  }

  void move(std::uint64_t count, SampleRef* to) {
    position_ += count;
    while (count > 0) {
      if (pool_.left() == 0) fill();
      const std::uint64_t n = std::min(count, pool_.left());
      pool_.take(n, to);
      to += n;
      count -= n;
    }
  }

  void fill() {
    const std::uint64_t end = std::min(pool_end_, segment_.num_parts());
    pool_.clear(end - next_part_);
    for (; next_part_ < end; ++next_part_) pool_.add(segment_.part(next_part_));
    pool_end_ = end + pool_blocks_;
    pool_.shuffle(key_.with(pool_number_++));
  }

  LineSegment segment_;
  std::uint64_t pool_end_, pool_blocks_;
  RandomKey key_;
  std::uint64_t next_part_ = 0, pool_number_ = 0, position_ = 0;
  RowPool pool_;
};

}  // namespace headrace
