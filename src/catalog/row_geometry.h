// Where the bytes of one row lie inside a decoded piece, and where they go in the dense row of a batch.
//
// A row of field shape (d1, …, dk) may be spread over several chunks (chunks across the row), over chunks wider than
// the array (edge chunks), or over records (one member of a compound). All of these are a small nest of strided loops
// around one contiguous run of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headrace {

struct RowGeometry {
  struct Loop {
    std::size_t count;
    std::size_t src_stride_bytes;
    std::size_t dst_stride_bytes;
  };
  std::size_t src_offset_bytes = 0;  ///< From the row's first byte in the piece.
  std::size_t dst_offset_bytes = 0;  ///< From the row's first byte in the batch.
  std::size_t run_bytes = 0;         ///< Contiguous on both sides.
  std::vector<Loop> loops;           ///< Outermost first; empty for one run.

  /// Return the bytes of the dense row that this piece fills.
  [[nodiscard]] std::size_t filled_bytes() const {
    std::size_t n = run_bytes;
    for (const Loop& l : loops) n *= l.count;
    return n;
  }
  /// Fold loops whose runs touch on both sides into longer runs. Call once after building.
  void simplify();
};

/// Return the geometry of `box_count` elements a dimension, starting at `src_start` in a row of `src_shape` records and
/// at `dst_start` in a dense row of `dst_shape` elements. `element_bytes` are taken at `element_offset` of every record
/// of `record_bytes`. All vectors have one entry for every dimension after the row axis.
RowGeometry row_box(const std::vector<std::uint64_t>& src_shape, const std::vector<std::uint64_t>& dst_shape,
                    const std::vector<std::uint64_t>& src_start, const std::vector<std::uint64_t>& dst_start,
                    const std::vector<std::uint64_t>& box_count, std::uint64_t record_bytes,
                    std::uint64_t element_offset, std::uint64_t element_bytes);

/// Return the same where an element is itself a nest of loops: `element` says how it lies in its record, and that it is
/// dense in a batch.
RowGeometry row_box(const std::vector<std::uint64_t>& src_shape, const std::vector<std::uint64_t>& dst_shape,
                    const std::vector<std::uint64_t>& src_start, const std::vector<std::uint64_t>& dst_start,
                    const std::vector<std::uint64_t>& box_count, std::uint64_t record_bytes,
                    const RowGeometry& element);

}  // namespace headrace
