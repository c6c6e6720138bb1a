// Sums of row digests over runs of rows (segments) of an array: the same for two places that hold the same rows.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "catalog/row_geometry.h"
#include "tools/rewrite/rewrite_plan.h"
#include "tools/rewrite/row_digest.h"

namespace headrace {

/// Sums of one array. Threads: add() from any number at once.
class SegmentSums {
 public:
  explicit SegmentSums(const RewriteArray& array)
      : row_bytes_(array.row_bytes),
        segment_rows_(array.segment_rows()),
        width_(array.digest_width()),
        by_element_(array.by_element),
        sums_(array.segments()) {}

  /// Add the part of a row that a piece holds. \param row  Its number in the array as written. \param from  The row's
  /// first byte in the piece.
  void add(std::uint64_t row, const RowGeometry& geometry, const std::byte* from) {
    const std::uint64_t digest =
        by_element_ ? runs_digest(row, geometry, 0, from + geometry.src_offset_bytes, geometry.dst_offset_bytes)
                    : row_digest(row, from, row_bytes_);
    sums_[row / segment_rows_].fetch_add(digest, std::memory_order_relaxed);
  }
  /// Add a whole row.
  void add(std::uint64_t row, const std::byte* bytes) {
    const std::uint64_t digest =
        by_element_ ? elements_digest(row, 0, bytes, row_bytes_, width_) : row_digest(row, bytes, row_bytes_);
    sums_[row / segment_rows_].fetch_add(digest, std::memory_order_relaxed);
  }

  [[nodiscard]] std::vector<std::uint64_t> values() const { return {sums_.begin(), sums_.end()}; }

 private:
  std::uint64_t runs_digest(std::uint64_t row, const RowGeometry& geometry, std::size_t loop, const std::byte* from,
                            std::size_t to) const {
    if (loop == geometry.loops.size()) return elements_digest(row, to / width_, from, geometry.run_bytes, width_);
    const RowGeometry::Loop& l = geometry.loops[loop];
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < l.count; ++i)
      sum += runs_digest(row, geometry, loop + 1, from + i * l.src_stride_bytes, to + i * l.dst_stride_bytes);
    return sum;
  }

  std::uint64_t row_bytes_, segment_rows_;
  std::size_t width_;
  bool by_element_;
  std::vector<std::atomic<std::uint64_t>> sums_;
};

}  // namespace headrace
