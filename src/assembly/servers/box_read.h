// Reading a box by itself, where a cell's stored bytes are its decoded ones: rows of the box that lie near each other
// are one read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "assembly/servers/box_copy.h"
#include "base/result.h"
#include "base/stage_clock.h"
#include "storage/file_range.h"

namespace headrace {

/// How a box is read: `reads` stretches of `read_elements`, each with the overlap's elements along the axes from `axis`
/// on.
struct BoxReads {
  std::size_t axis = 0;
  std::uint64_t reads = 1, read_elements = 0;
  /// Return what is read for the box, in bytes.
  [[nodiscard]] std::uint64_t bytes(const CellGrid& grid) const { return reads * read_elements * grid.element_bytes; }
};

/// Plan the reads of a box. Holes between rows up to some KiB are read too: that costs less than another call.
BoxReads plan_box_reads(const CellGrid& grid, const BoxOverlap& overlap);

/// Return the bytes of the largest buffer that read_box() needs for boxes of this shape.
std::uint64_t box_buffer_bytes(const CellGrid& grid, const Axes& box);

/// What was copied, in elements of the cell and addresses of the box.
struct BoxRead {
  std::uint64_t first_from = 0, last_from = 0;
  std::uint64_t read_bytes = 0;  ///< With the holes between rows.
  BoxCopied copied;
};

/// Read `overlap` of a cell whose bytes are `stored` into a sample's box. \param buffer  Of box_buffer_bytes(). Errors:
/// those of RandomAccessFile::read_at(). Blocks: until the bytes are there.
Result<BoxRead> read_box(const CellGrid& grid, const BoxOverlap& overlap, const FileRange& stored, const Axes& box,
                         std::byte* to, std::span<std::byte> buffer, StageClock& clock);

}  // namespace headrace
