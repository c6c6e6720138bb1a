// How the rows of a block are cut into pieces, each of which is encoded by itself: some short rows, or a part of a long
// one. A piece and its byte planes stay in the processor's nearest cache.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/memory/align.h"
#include "cache/blocks/block_form.h"

namespace headrace {

/// The pieces of one field. They are numbered through the rows of a block, in their order.
struct Pieces {
  static constexpr std::uint64_t kBytes = 8 << 10;  ///< About.
  std::uint64_t rows = 1;                           ///< Rows of a piece, if rows are short.
  std::uint64_t per_row = 1;                        ///< Pieces of a row, if rows are long; `rows` is 1 then.
  std::uint64_t bytes = 0;                          ///< Bytes of a piece; the last of a row or block may have fewer.
  std::uint64_t row_bytes = 0;

  static Pieces of(const BlockForm& form, std::size_t field) {
    Pieces p;
    p.row_bytes = form.row_bytes(field);
    if (p.row_bytes <= kBytes) {
      p.rows = std::max<std::uint64_t>(kBytes / std::max<std::uint64_t>(p.row_bytes, 1), 1);
      p.bytes = p.rows * p.row_bytes;
      return p;
    }
    // Equal parts, of so many elements that they are whole cache lines.
    constexpr std::uint64_t kLineElements = 64;
    const std::uint64_t element = form.element_bytes(field), elements = p.row_bytes / element;
    const std::uint64_t most = std::max<std::uint64_t>((p.row_bytes + kBytes - 1) / kBytes, 1);
    const std::uint64_t part = (elements + most - 1) / most;
    p.bytes = std::min(align_up(part, kLineElements) * element, p.row_bytes);
    p.per_row = (p.row_bytes + p.bytes - 1) / p.bytes;
    return p;
  }
  /// Return the pieces of a block of `block_rows`.
  [[nodiscard]] std::uint64_t count(std::uint64_t block_rows) const { return (block_rows + rows - 1) / rows * per_row; }
  /// Return where a piece starts in the field's rows of the block.
  [[nodiscard]] std::uint64_t offset(std::uint64_t piece) const {
    return piece / per_row * rows * row_bytes + piece % per_row * bytes;
  }
  [[nodiscard]] std::uint64_t size(std::uint64_t piece, std::uint64_t block_rows) const {
    const std::uint64_t end = per_row > 1 ? (piece / per_row + 1) * row_bytes : block_rows * row_bytes;
    return std::min(bytes, end - offset(piece));
  }
};

}  // namespace headrace
